/** A program that calls the service by what hey-api has made of its documents. */
export function writeSdkProgram(): string {
  return `
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import * as hello from "./sdk/hello";
import { client as helloClient } from "./sdk/hello/client.gen";
import * as mergeFiles from "./sdk/merge-files";
import { client as mergeClient } from "./sdk/merge-files/client.gen";
import * as nightly from "./sdk/nightly";
import { client as nightlyClient } from "./sdk/nightly/client.gen";
import * as salesReport from "./sdk/sales-report";
import { client as salesClient } from "./sdk/sales-report/client.gen";
import * as service from "./sdk/service";
import { client as serviceClient } from "./sdk/service/client.gen";

const site = JSON.parse(readFileSync("site.json", "utf8"));
const upload = (path: string): File => new File([readFileSync(path)], basename(path), { type: "text/csv" });

interface Result { data?: unknown; error?: unknown }

/** Any of the clients: all have the same function for files. */
async function read(readFile: typeof hello.readFile, result: Result, output: string): Promise<unknown> {
  if (result.error !== undefined) throw new Error(JSON.stringify(result.error));
  const { executionId, outputs } = result.data as hello.Success;
  const fileName = decodeURIComponent(new URL(outputs[output] as string).pathname.split("/").at(-1) as string);
  const { data: file } = await readFile({ path: { executionId, fileName }, parseAs: "blob", throwOnError: true });
  const sha256 = createHash("sha256").update(Buffer.from(await (file as Blob).arrayBuffer())).digest("hex");
  return { executionId, fileName, sha256 };
}

export async function call(): Promise<unknown> {
  const found: Record<string, unknown> = {};
  const keyOf = (example: string): string => site.examples[example].apiKey;
  helloClient.setConfig({ baseUrl: site.url, auth: keyOf("hello") });
  nightlyClient.setConfig({ baseUrl: site.url, auth: keyOf("nightly") });
  mergeClient.setConfig({ baseUrl: site.url, auth: keyOf("merge-files") });
  salesClient.setConfig({ baseUrl: site.url, auth: keyOf("sales-report") });
  serviceClient.setConfig({ baseUrl: site.url, auth: keyOf("hello") });
  
  found["hello"] = await read(hello.readFile, await hello.executeWorkflow({ body: { name: "Ada" } }), "greeting");
  const team = [{ name: "Ada", hours_per_week: 40 }];
  found["nightly"] = await read(nightly.readFile, await nightly.executeWorkflow({ body: { team, weeks: 2 } }), "capacity");
  const files = site.files.map(upload);
  found["merge-files"] = await read(mergeFiles.readFile, await mergeFiles.executeWorkflow({ body: { files } }), "merged");
  const body = { orders: upload(site.orders), region: "EU" as const };
  found["sales-report"] = await read(salesReport.readFile, await salesReport.executeWorkflow({ body }), "report");
  const path = { workflowId: site.examples.hello.workflowId };
  const any = await service.executeWorkflow({ path, body: { name: "Ada" }, headers: { Prefer: "wait=60" } });
  found["service"] = await read(service.readFile, any, "greeting");
  const refused = await hello.executeWorkflow({ auth: "trd_wrong", body: { name: "Ada" } });
  found["refused"] = refused.error?.error;
  return found;
}
`;
}
