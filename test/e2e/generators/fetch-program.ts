import type { Site } from "./generator.ts";

/** A program that calls the service with the types that openapi-typescript has made of its documents. */
export function writeFetchProgram({ examples }: Site): string {
  const pathOf = (example: string): string => JSON.stringify(`/api/workflows/${examples[example]?.workflowId}/execute`);
  return `
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import createClient, { type Client } from "openapi-fetch";
import type { components, paths as Hello } from "./types-hello";
import type { paths as MergeFiles } from "./types-merge-files";
import type { paths as Nightly } from "./types-nightly";
import type { paths as SalesReport } from "./types-sales-report";
import type { paths as Service } from "./types-service";

const site = JSON.parse(readFileSync("site.json", "utf8"));

function connect<Paths extends {}>(example: string, key?: string): Client<Paths> {
  return createClient<Paths>({ baseUrl: site.url, headers: { "x-api-key": key ?? site.examples[example].apiKey } });
}

/** Files have no type of their own in openapi-typescript: they stand as their paths until they are sent. */
function toForm(body: Record<string, unknown>): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(body)) {
    const isFile = name === "files" || name === "orders";
    for (const one of Array.isArray(value) ? value : [value])
      form.append(name, isFile ? new File([readFileSync(one)], basename(one), { type: "text/csv" }) : String(one));
  }
  return form;
}

async function read(client: Client<Hello>, result: { data?: unknown; error?: unknown }, output: string): Promise<unknown> {
  if (result.error !== undefined) throw new Error(JSON.stringify(result.error));
  const { executionId, outputs } = result.data as components["schemas"]["Success"];
  const fileName = decodeURIComponent(new URL(outputs[output] as string).pathname.split("/").at(-1) as string);
  const { data } = await client.GET("/api/run-logs/{executionId}/files/{fileName}", {
    params: { path: { executionId, fileName } },
    parseAs: "arrayBuffer",
  });
  const sha256 = createHash("sha256").update(Buffer.from(data as ArrayBuffer)).digest("hex");
  return { executionId, fileName, sha256 };
}

export async function call(): Promise<unknown> {
  const found: Record<string, unknown> = {};
  const hello = connect<Hello>("hello");
  found["hello"] = await read(hello, await hello.POST(${pathOf("hello")}, { body: { name: "Ada" } }), "greeting");
  const nightly = connect<Nightly>("nightly");
  const team = [{ name: "Ada", hours_per_week: 40 }];
  const planned = await nightly.POST(${pathOf("nightly")}, { body: { team, weeks: 2 } });
  found["nightly"] = await read(nightly as never, planned, "capacity");
  const mergeFiles = connect<MergeFiles>("merge-files");
  const merged = await mergeFiles.POST(${pathOf("merge-files")}, { body: { files: site.files }, bodySerializer: toForm });
  found["merge-files"] = await read(mergeFiles as never, merged, "merged");
  const salesReport = connect<SalesReport>("sales-report");
  const report = await salesReport.POST(${pathOf("sales-report")}, {
    body: { orders: site.orders, region: "EU" },
    bodySerializer: toForm,
  });
  found["sales-report"] = await read(salesReport as never, report, "report");
  const service = connect<Service>("hello");
  const any = await service.POST("/api/workflows/{workflowId}/execute", {
    params: { path: { workflowId: site.examples.hello.workflowId } },
    body: { name: "Ada" },
  });
  found["service"] = await read(service as never, any, "greeting");
  const refused = await connect<Hello>("hello", "trd_wrong").POST(${pathOf("hello")}, { body: { name: "Ada" } });
  found["refused"] = refused.error?.error;
  return found;
}
`;
}
