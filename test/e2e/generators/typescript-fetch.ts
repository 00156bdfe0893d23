import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DOCUMENTS, type Generator, KINDS } from "./generator.ts";
import { installOpenApiGenerator } from "./openapi-generator.ts";
import { compileAndRun } from "./typescript.ts";

const MAIN = `
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import * as hello from "./api/hello";
import * as kinds from "./api/kinds";
import * as mergeFiles from "./api/merge-files";
import * as nightly from "./api/nightly";
import * as salesReport from "./api/sales-report";
import * as service from "./api/service";

const site = JSON.parse(readFileSync("site.json", "utf8"));
const upload = (path: string): File => new File([readFileSync(path)], basename(path), { type: "text/csv" });

function connect<Configuration>(client: { Configuration: new (given: object) => Configuration }, example: string, apiKey?: string) {
  return new client.Configuration({ basePath: site.url, apiKey: apiKey ?? site.examples[example].apiKey });
}

/** Any of the clients: all have the same function for files. */
interface Reader {
  readFile(given: { executionId: string; fileName: string }): Promise<Blob>;
}

async function read(api: Reader, executionId: string, output: string): Promise<unknown> {
  const fileName = decodeURIComponent(new URL(output).pathname.split("/").at(-1) as string);
  const file = await api.readFile({ executionId, fileName });
  const sha256 = createHash("sha256").update(Buffer.from(await file.arrayBuffer())).digest("hex");
  return { executionId, fileName, sha256 };
}

async function call(): Promise<unknown> {
  const found: Record<string, unknown> = {};
  const settings = connect(hello, "hello");
  const greeted = await new hello.WorkflowsApi(settings).executeWorkflow({ workflowInputs: { name: "Ada", times: 2 } });
  found["hello"] = await read(new hello.ExecutionsApi(settings), greeted.executionId, greeted.outputs.greeting);
  found["log"] = await new hello.ExecutionsApi(settings).readLog({ executionId: greeted.executionId });

  const team = [{ name: "Ada", hours_per_week: 40 }];
  const planning = connect(nightly, "nightly");
  const planned = await new nightly.WorkflowsApi(planning).executeWorkflow({ workflowInputs: { team, weeks: 2 } });
  found["nightly"] = await read(new nightly.ExecutionsApi(planning), planned.executionId, planned.outputs.capacity);

  const merging = connect(mergeFiles, "merge-files");
  const merged = await new mergeFiles.WorkflowsApi(merging).executeWorkflow({ files: site.files.map(upload) });
  found["merge-files"] = await read(new mergeFiles.ExecutionsApi(merging), merged.executionId, merged.outputs.merged);

  const reporting = connect(salesReport, "sales-report");
  const report = await new salesReport.WorkflowsApi(reporting).executeWorkflow({ orders: upload(site.orders), region: "EU" });
  found["sales-report"] = await read(new salesReport.ExecutionsApi(reporting), report.executionId, report.outputs.report);

  const echoing = connect(kinds, "kinds");
  const workflowInputs = { name: "Ada", colors: new Set([kinds.OptionColors.DarkBlue]), size: "L" as const };
  const echoed = await new kinds.WorkflowsApi(echoing).executeWorkflow({ workflowInputs });
  found["kinds"] = await read(new kinds.ExecutionsApi(echoing), echoed.executionId, echoed.outputs.echo);

  const any = connect(service, "hello");
  const { workflowId } = site.examples.hello;
  const answer = await new service.WorkflowsApi(any).executeWorkflow({ workflowId, requestBody: { name: "Ada" } });
  found["service"] = await read(new service.ExecutionsApi(any), answer.executionId, answer.outputs["greeting"] as string);

  const stranger = new hello.WorkflowsApi(connect(hello, "hello", "trd_wrong"));
  const refusal = await stranger.executeWorkflow({ workflowInputs: {} }).catch((error: unknown) => error);
  found["refused"] = (await (refusal as hello.ResponseError).response.json()).error;
  return found;
}

console.log(JSON.stringify([await call()]));
`;

/** openapi-generator for TypeScript with fetch, with no option: all that it makes is compiled. */
export async function installFetchClient(): Promise<Generator> {
  const { generate, remove } = await installOpenApiGenerator();
  return {
    async use(folder, site) {
      for (const name of [...DOCUMENTS, KINDS])
        await generate(folder, { language: "typescript-fetch", name, output: join(folder, "api", name) });
      await writeFile(join(folder, "main.ts"), MAIN);
      return compileAndRun(folder, site);
    },
    remove,
  };
}
