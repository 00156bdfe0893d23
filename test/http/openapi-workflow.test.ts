import { expect, test } from "@jest/globals";
import { INPUT_KINDS } from "../../domain/manifest/declared-kinds.ts";
import { parseInputs } from "../../domain/manifest/inputs.ts";
import type { Input, Manifest } from "../../domain/manifest/manifest.ts";
import { parseManifest } from "../../domain/manifest/parse.ts";
import { anAccount, anInput, aSession, aWorkflow, type TestWorkflow } from "../support/builders.ts";
import {
  checkExamples,
  type Document,
  expectValid,
  findUnusable,
  operationOf,
  operationsOf,
  schemaOf,
} from "./openapi-document.ts";
import { aFileService, execute } from "./service.ts";

const service = await aFileService();

const pathOf = (workflowId: string): string => `/api/workflows/${workflowId}/openapi.json`;

async function describe(workflow: Pick<TestWorkflow, "workflowId" | "apiKey">): Promise<Document> {
  const answer = await service.call(pathOf(workflow.workflowId), { headers: { "x-api-key": workflow.apiKey } });
  expect([answer.status, answer.headers["content-type"]]).toEqual([200, "application/json; charset=utf-8"]);
  return answer.json() as unknown as Document;
}

/** What a person writes, as it is parsed. */
function aWritten(config: string): Manifest {
  const parsed = parseManifest(config);
  if (!parsed.ok) throw new Error(parsed.problems.map(({ message }) => message).join(" "));
  return parsed.manifest;
}

const REPORT = aWritten(`
name: Sales report
description: Turns an order export into a PDF
inputs:
  region: { type: select, options: [EU, US], default: EU, label: Region }
  count: { type: integer, min: 5, max: 50, step: 5 }
  code: { type: string, pattern: '[A-Z]{3}-[0-9]{3}', min_length: 7 }
  due: { type: date, min: 2026-03-01, required: false }
  at: { type: datetime, required: false }
  tags: { type: multi_select, options: [x, y], required: false }
  token: { type: secret, required: false }
  orders: { type: file, accept: [.csv], required: false, description: Export from the shop }
  extras: { type: file_list, max_files: 3, required: false }
  shape: { type: json, default: { a: [1] } }
outputs:
  report: { type: file, description: The PDF }
  notes: { type: file, required: false }
triggers:
  api: { enabled: true }
`);

test("document of a workflow, of every kind of input at once, is valid, and its example is taken by execute", async () => {
  const workflow = await aWorkflow(service.db, { manifest: REPORT });
  const document = await describe(workflow);
  await expectValid(document);
  expect(await checkExamples(document)).toEqual({ count: expect.any(Number), problems: [] });
  expect(document.info).toEqual({ title: "Sales report", version: workflow.commitId, description: REPORT.description });
  const json = operationOf(document, "executeWorkflow").requestBody?.content["application/json"];
  expect(findUnusable(document)).toEqual([]);
  expect(schemaOf(document, json)).toMatchObject({
    required: ["count", "code"],
    additionalProperties: false,
    properties: {
      region: { title: "Region", anyOf: [{ enum: ["EU", "US"] }, { type: "null" }], default: "EU" },
      count: { type: "integer", minimum: 5, maximum: 50, multipleOf: 5 },
      code: { pattern: "^(?:[A-Z]{3}-[0-9]{3})$" },
      token: { format: "password", writeOnly: true },
    },
  });
  expect(json?.example).toMatchObject({ region: "EU", count: 5, code: "ABC-123" });
  expect((await execute(service, workflow, json?.example)).status).toBe(200);
});

test("document of a workflow, as a form, has files, lists of files, and which parts are JSON", async () => {
  const document = await describe(await aWorkflow(service.db, { manifest: REPORT }));
  const form = operationOf(document, "validateInputs").requestBody?.content["multipart/form-data"];
  const file = { type: "string", contentMediaType: "application/octet-stream" };
  expect(schemaOf(document, form)).toMatchObject({
    properties: {
      orders: file,
      extras: { type: "array", items: file, description: expect.stringContaining("At most 3 files.") },
    },
  });
  expect(form?.encoding).toEqual({
    tags: { contentType: "application/json" },
    shape: { contentType: "application/json" },
  });
});

test("document of a workflow, of its success, has the outputs that it declares", async () => {
  const document = await describe(await aWorkflow(service.db, { manifest: REPORT }));
  const success = operationOf(document, "executeWorkflow").responses["200"]?.content?.["application/json"];
  expect(schemaOf(document, success)).toMatchObject({
    properties: {
      outputs: {
        properties: { report: { type: "string", description: "The PDF" }, notes: { type: "string" } },
        required: ["report"],
      },
    },
  });
});

test("document of a workflow, without files, has a JSON body alone; with files that may be left out, a form before it", async () => {
  const bodiesOf = (document: Document): unknown[] =>
    Object.entries(operationOf(document, "executeWorkflow").requestBody?.content ?? {}).map(
      ([mediaType, { schema }]) => [mediaType, schema["$ref"]],
    );
  const json = ["application/json", "#/components/schemas/WorkflowInputs"];
  const form = ["multipart/form-data", "#/components/schemas/WorkflowForm"];
  const bare = await aWorkflow(service.db, { inputs: [anInput("string", "value")] });
  expect(bodiesOf(await describe(bare))).toEqual([json]);
  expect(bodiesOf(await describe(await aWorkflow(service.db, { manifest: REPORT })))).toEqual([form, json]);
  expect(bodiesOf(await describe(await aWorkflow(service.db, { inputs: [anInput("file", "value")] })))).toEqual([form]);
});

test("document of a workflow, address by address, has its own in the place of any workflow's", async () => {
  const workflow = await aWorkflow(service.db);
  const document = await describe(workflow);
  expect(Object.keys(document.paths).filter((path) => path.includes("/workflows/"))).toEqual(
    ["execute", "validate", "openapi.json"].map((last) => `/api/workflows/${workflow.workflowId}/${last}`),
  );
  expect(JSON.stringify(document.paths)).not.toContain("{workflowId}");
  expect(operationsOf(document).flatMap(({ parameters }) => parameters.map(({ name }) => name))).not.toContain(
    "workflowId",
  );
});

test.each(INPUT_KINDS)(
  "document of a workflow, with one required %s, is valid and takes what execute takes",
  async (kind) => {
    const inputs: Input[] = [anInput(kind, "value", kind === "string" ? { charactersMin: 30 } : {})];
    const workflow = await aWorkflow(service.db, { inputs });
    const document = await describe(workflow);
    await expectValid(document);
    const { content } = operationOf(document, "executeWorkflow").requestBody ?? { content: {} };
    const isFile = kind === "file" || kind === "file_list";
    expect(Object.keys(content)).toEqual(isFile ? ["multipart/form-data"] : ["application/json"]);
    expect(await checkExamples(document)).toMatchObject({ problems: [] });
    expect(findUnusable(document)).toEqual([]);
    if (!isFile) expect(parseInputs({ inputs }, content["application/json"]?.example)).toMatchObject({ ok: true });
  },
);

test("document of a workflow, with a pattern that no known text fits, shows no example rather than a wrong one", async () => {
  const document = await describe(
    await aWorkflow(service.db, { inputs: [anInput("string", "value", { pattern: "[0-9]{17}x" })] }),
  );
  const json = operationOf(document, "executeWorkflow").requestBody?.content["application/json"];
  expect([json?.schema === undefined, json !== undefined && "example" in json]).toEqual([false, false]);
});

test("document of a workflow, with inputs named like parts of every object, has them as they are", async () => {
  const names = ["constructor", "toString", "inputs"];
  const document = await describe(
    await aWorkflow(service.db, { inputs: names.map((name) => anInput("string", name)) }),
  );
  const json = operationOf(document, "executeWorkflow").requestBody?.content["application/json"];
  expect(Object.keys(schemaOf(document, json)["properties"] as object)).toEqual(names);
});

test("document of a workflow, when a new commit is made, is another one under another tag", async () => {
  const [one, other] = [
    await aWorkflow(service.db, { inputs: [anInput("string", "a")] }),
    await aWorkflow(service.db, { inputs: [anInput("string", "b")] }),
  ];
  const call = ({ workflowId, apiKey }: TestWorkflow, tag = "") =>
    service.call(pathOf(workflowId), { headers: { "x-api-key": apiKey, "if-none-match": tag } });
  const { etag } = (await call(one)).headers;
  const again = await call(one, String(etag));
  expect([again.status, again.headers["cache-control"]]).toEqual([304, "private, no-cache"]);
  expect((await call(other, String(etag))).status).toBe(200);
});

test.each([
  ["no key", {}, 401, "Unauthorized"],
  ["an empty key", { "x-api-key": "" }, 401, "Unauthorized"],
  ["a wrong key", { "x-api-key": "trd_wrong" }, 401, "Unauthorized"],
  ["a session that has ended", { cookie: `__Host-session=${"a".repeat(43)}` }, 401, "Unauthorized"],
])("document of a workflow, asked for with %s, is refused", async (_what, headers, status, error) => {
  const { workflowId } = await aWorkflow(service.db);
  const answer = await service.call(pathOf(workflowId), { headers: headers as Record<string, string> });
  expect([answer.status, answer.json()]).toMatchObject([status, { error }]);
});

test.each([
  ["is unknown", "wf_00000000000000000000000000"],
  ["has a name like no workflow's", "nothing"],
])("document of a workflow, when it %s, is 404", async (_what, workflowId) => {
  const { apiKey } = await aWorkflow(service.db);
  const answer = await service.call(pathOf(workflowId), { headers: { "x-api-key": apiKey } });
  expect([answer.status, answer.json()]).toMatchObject([404, { error: "Workflow not found" }]);
});

test("document of a workflow, without a commit, is 404; with its API trigger disabled, it is there", async () => {
  const bare = await aWorkflow(service.db, { commit: false });
  const answer = await service.call(pathOf(bare.workflowId), { headers: { "x-api-key": bare.apiKey } });
  expect(answer.status).toBe(404);
  await describe(await aWorkflow(service.db, { manifest: { triggers: { api: null, schedule: null } } }));
});

test("document of a workflow, for a browser, is there for its account's session and 404 for a stranger's", async () => {
  const { workflowId, accountId } = await aWorkflow(service.db);
  const call = (cookie: string) => service.call(pathOf(workflowId), { headers: { cookie } });
  expect((await call(await aSession(service.db, accountId))).status).toBe(200);
  const stranger = await call(await aSession(service.db, await anAccount(service.db)));
  expect([stranger.status, stranger.json()]).toMatchObject([404, { error: "Workflow not found" }]);
});
