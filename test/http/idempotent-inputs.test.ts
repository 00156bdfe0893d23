import { afterEach, expect, test } from "@jest/globals";
import { queryRows } from "../../db/connect.ts";
import { aCommit, aManifest, anInput, aWorkflow, type TestWorkflow } from "../support/builders.ts";
import type { Answer } from "../support/https.ts";
import { aFileService, execute, findLeftovers, forgetExecutions, sendForm } from "./service.ts";

const service = await aFileService();

const countFiles = async (): Promise<number> => (await findLeftovers(service)).files.length;

afterEach(() => forgetExecutions(service));

const KEY = "a key of 2026";

function repeat(workflow: TestWorkflow, body: unknown = {}, headers: Record<string, string> = {}): Promise<Answer> {
  return execute(service, workflow, body, { "idempotency-key": KEY, ...headers });
}

const INPUTS = [
  anInput("string", "region"),
  anInput("json", "options", { required: false }),
  anInput("integer", "count", { required: false, default: 3 }),
];

test.each([
  [
    "with the keys in another order",
    { region: "EU", options: { a: 1, b: [1, 2] } },
    { options: { b: [1, 2], a: 1 }, region: "EU" },
  ],
  ["nested", { region: "EU" }, { inputs: { region: "EU" } }],
  ["with null for what was not given", { region: "EU" }, { region: "EU", options: null }],
  ["with the default for what was not given", { region: "EU" }, { region: "EU", count: 3 }],
  [
    "with JSON in which only white space and the order of keys are others",
    '{"region": "EU", "options": {"id": 9007199254740993, "share": 1.0}}',
    '{"options":{"share":1.0,"id":9007199254740993},"region":"EU"}',
  ],
  ["with a number written otherwise", { region: "EU", count: 10 }, '{"region": "\\u0045U", "count": 1e1}'],
])("execute, sent again %s, is the same call", async (_circumstance, body, again) => {
  const workflow = await aWorkflow(service.db, { inputs: INPUTS });
  const first = await repeat(workflow, body);
  expect([first.status, (await repeat(workflow, again)).text()]).toEqual([200, first.text()]);
});

test.each([
  ["another value", { region: "US" }],
  ["a value more", { region: "EU", options: { a: 1 } }],
  ["another value than the default", { region: "EU", count: 4 }],
])("execute, sent again with %s, answers 409 and starts nothing", async (_circumstance, again) => {
  const workflow = await aWorkflow(service.db, { inputs: INPUTS });
  const first = await repeat(workflow, { region: "EU" });
  const answer = await repeat(workflow, again);
  expect([answer.status, answer.json()]).toEqual([
    409,
    {
      error: "Conflict",
      message: expect.stringContaining("other inputs"),
      executionId: first.json()["executionId"],
    },
  ]);
  expect(service.started).toHaveLength(1);
});

test.each([
  ["9007199254740993", "9007199254740992"],
  ["12345678901234567890", "12345678901234567891"],
  ['{"a": 0.1}', '{"a": 0.10000000000000001}'],
])("execute, with the JSON %s, sent again with %s, answers 409", async (sent, other) => {
  const workflow = await aWorkflow(service.db, { inputs: INPUTS });
  const first = await repeat(workflow, `{"region": "EU", "options": ${sent}}`);
  expect((await repeat(workflow, `{"region": "EU", "options": ${other}}`)).status).toBe(409);
  expect((await repeat(workflow, `{"region": "EU", "options": ${sent}}`)).text()).toBe(first.text());
});

test("execute, sent again after an upgrade from before texts were kept, is compared by values", async () => {
  const workflow = await aWorkflow(service.db, { inputs: INPUTS });
  const first = await repeat(workflow, '{"region": "EU", "options": [1]}');
  await queryRows(service.db, "update executions set input_texts = '{}'");
  expect((await repeat(workflow, '{"region": "EU", "options": [1.0]}')).text()).toBe(first.text());
  expect((await repeat(workflow, '{"region": "EU", "options": [2]}')).status).toBe(409);
});

test("execute, sent again with lists in another order, answers 409", async () => {
  const workflow = await aWorkflow(service.db, { inputs: INPUTS });
  await repeat(workflow, { region: "EU", options: [1, 2] });
  expect((await repeat(workflow, { region: "EU", options: [2, 1] })).status).toBe(409);
});

const REGION = anInput("string", "region");
const COUNT = anInput("integer", "count", { required: false, default: 3 });
const OPTIONS = anInput("json", "options", { required: false });

test.each<[string, Parameters<typeof aManifest>[0]]>([
  ["changed a default", { inputs: [REGION, { ...COUNT, default: 9 } as typeof COUNT, OPTIONS] }],
  ["changed a default to what was sent", { inputs: [REGION, { ...COUNT, default: 4 } as typeof COUNT, OPTIONS] }],
  ["removed inputs", { inputs: [REGION] }],
  ["added a required input", { inputs: [REGION, COUNT, OPTIONS, anInput("string", "unit")] }],
  ["narrowed a constraint", { inputs: [anInput("select", "region", { options: ["US"] }), COUNT, OPTIONS] }],
  ["closed the API", { inputs: [REGION, COUNT, OPTIONS], triggers: { api: { enabled: false }, schedule: null } }],
])("execute, sent again after a commit that %s, gets its answer, and 409 with other inputs", async (_what, commit) => {
  const workflow = await aWorkflow(service.db, { inputs: INPUTS });
  const sent = { region: "EU", count: 4, options: { a: 1 } };
  const first = await repeat(workflow, sent);
  const { workflowId, commitId: parentId } = workflow;
  await aCommit(service.db, { workflowId, parentId, manifest: aManifest(commit) });
  const again = await repeat(workflow, sent);
  expect([again.status, again.text(), again.headers["idempotent-replayed"]]).toEqual([200, first.text(), "true"]);
  for (const other of [
    { ...sent, region: "US" },
    { ...sent, region: 3 },
    { ...sent, unit: "kg" },
  ]) {
    const answer = await repeat(workflow, other);
    expect([answer.status, answer.json()["executionId"]]).toEqual([409, first.json()["executionId"]]);
  }
  expect(service.started).toHaveLength(1);
});

test("execute, with a secret, compares it without keeping anything it could be guessed from", async () => {
  const workflow = await aWorkflow(service.db, { inputs: [anInput("secret", "token", { required: false })] });
  const first = await repeat(workflow, { token: "hunter2" });
  expect((await repeat(workflow, { token: "hunter2" })).text()).toBe(first.text());
  expect((await repeat(workflow, { token: "hunter3" })).status).toBe(409);
  expect((await repeat(workflow)).status).toBe(409);
  const other = await execute(service, workflow, { token: "hunter3" }, { "idempotency-key": "another" });
  expect(other.status).toBe(200);
  const rows = await queryRows<{ fingerprint: Buffer }>(service.db, "select fingerprint from executions");
  expect(rows).toHaveLength(2);
  expect(rows[0]?.fingerprint).toEqual(rows[1]?.fingerprint);
});

function sendFiles(workflow: TestWorkflow, files: readonly [string, string][]): Promise<Answer> {
  const parts = files.map(([fileName, content]) => ({ name: "orders", fileName, content }));
  return sendForm(service, workflow, parts, { "idempotency-key": KEY });
}

test("execute, sent again with the same files, keeps only those of the first call", async () => {
  const workflow = await aWorkflow(service.db, { inputs: [anInput("file_list", "orders")] });
  const first = await sendFiles(workflow, [
    ["a.csv", "one"],
    ["b.csv", "two"],
  ]);
  const kept = await countFiles();
  const again = await sendFiles(workflow, [
    ["x.csv", "one"],
    ["y.csv", "two"],
  ]);
  expect([first.status, again.text()]).toEqual([200, first.text()]);
  expect(await countFiles()).toBe(kept);
});

test.each([
  [
    "other bytes",
    [
      ["a.csv", "one"],
      ["b.csv", "tw0"],
    ],
  ],
  [
    "another order",
    [
      ["b.csv", "two"],
      ["a.csv", "one"],
    ],
  ],
  [
    "a file more",
    [
      ["a.csv", "one"],
      ["b.csv", "two"],
      ["c.csv", ""],
    ],
  ],
] as const)(
  "execute, sent again with files of %s, answers 409 and leaves none of them",
  async (_circumstance, files) => {
    const workflow = await aWorkflow(service.db, { inputs: [anInput("file_list", "orders")] });
    await sendFiles(workflow, [
      ["a.csv", "one"],
      ["b.csv", "two"],
    ]);
    const kept = await countFiles();
    expect((await sendFiles(workflow, files as unknown as [string, string][])).status).toBe(409);
    expect(await countFiles()).toBe(kept);
  },
);
