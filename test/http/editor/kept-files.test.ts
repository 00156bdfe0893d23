import { beforeAll, expect, test } from "@jest/globals";
import { queryRows } from "../../../db/connect.ts";
import type { ExecutionId } from "../../../domain/ids.ts";
import { removeOld } from "../../../src/housekeeping/retention.ts";
import { createExecutionId } from "../../../src/ids.ts";
import { anInput, aWorkflow, type TestMember, type TestWorkflow } from "../../support/builders.ts";
import { type Answer, aForm, type Part } from "../../support/https.ts";
import { aFileService, findLeftovers } from "../service.ts";
import { aHouse, ask, type House } from "./people.ts";

const INPUTS = [
  anInput("string", "region", { required: false }),
  anInput("file", "orders", { accept: [".csv"], bytesMax: 1_000 }),
  anInput("file_list", "extras", { required: false, filesMax: 3 }),
  anInput("file", "picture", { required: false, accept: [".png"] }),
];
const EXTRA = { name: "extras", contentType: "text/plain" };

let house: House;
let workflow: TestWorkflow;
let first: ExecutionId;

const service = await aFileService({
  limits: { jsonBytesMax: 100_000, fileBytesMax: 1_500_000, requestBytesMax: 4_000, filesMax: 4 },
});

beforeAll(async () => {
  house = await aHouse(service);
  workflow = await aWorkflow(service.db, { accountId: house.accountId, inputs: INPUTS });
  first = await run(workflow);
});

/** An execution with a file and two extras. */
async function run(of: TestWorkflow, who: TestMember = house.member): Promise<ExecutionId> {
  const answer = await send(
    [
      { name: "orders", fileName: "orders.csv", content: "a,b\n", contentType: "text/csv" },
      { ...EXTRA, fileName: "one.txt", content: "one" },
      { ...EXTRA, fileName: "two.txt", content: "two" },
    ],
    { of, who },
  );
  expect(answer.status).toBe(200);
  return answer.json()["executionId"] as ExecutionId;
}

const from = (executionId: string, input: string, position?: number) => ({
  from: { executionId, input, ...(position === undefined ? {} : { position }) },
});

interface Way {
  readonly of?: TestWorkflow;
  readonly who?: TestMember;
  readonly route?: "execute" | "validate";
}

function send(
  body: readonly Part[] | object,
  { of = workflow, who = house.member, route = "execute" }: Way = {},
): Promise<Answer> {
  const path = `/api/workflows/${of.workflowId}/${route}`;
  if (!Array.isArray(body)) return ask(service, path, { json: body }, who);
  const form = aForm(body as Part[]);
  return service.call(path, {
    method: "POST",
    headers: { "sec-fetch-site": "same-origin", cookie: who.cookie, ...form.headers },
    body: form.body,
  });
}

interface Input {
  readonly name: string;
  readonly position: number;
  readonly fileName: string;
  readonly key: string;
  readonly type: string;
}

async function filesOf(answer: Answer): Promise<[string, number, string, string][]> {
  expect([answer.status, answer.status === 200 ? "" : answer.text()]).toEqual([200, ""]);
  const id = answer.json()["executionId"] as string;
  const files = await queryRows<Input>(
    service.db,
    `select name, position, file_name as "fileName", storage_key as key, content_type as type
       from execution_files where direction = 'input' and execution_id = :id order by name, position`,
    { id },
  );
  const found: [string, number, string, string][] = [];
  for (const { name, position, fileName, key } of files) {
    expect(key).toContain(id);
    const chunks: Buffer[] = [];
    for await (const chunk of await service.storage.get(key)) chunks.push(chunk as Buffer);
    found.push([name, position, fileName, Buffer.concat(chunks).toString()]);
  }
  return found;
}

const ORDERS = ["orders", 0, "orders.csv", "a,b\n"];

test("execute, with files of an earlier execution named in JSON, has copies of them", async () => {
  const answer = await send({
    region: "EU",
    orders: from(first, "orders"),
    extras: [from(first, "extras", 1), from(first, "extras", 0)],
  });
  expect(await filesOf(answer)).toEqual([["extras", 0, "two.txt", "two"], ["extras", 1, "one.txt", "one"], ORDERS]);
  const record = await ask(service, `/api/executions/${String(answer.json()["executionId"])}`, {}, house.viewer);
  expect(record.json()).toMatchObject({ inputs: { region: "EU" }, status: "success" });
});

test("execute, with kept files beside new ones in a form, has the kept ones first, each under a name of its own", async () => {
  const answer = await send([
    { name: "orders", content: JSON.stringify({ from: { executionId: first, input: "orders", position: 0 } }) },
    { ...EXTRA, fileName: "two.txt", content: "newer" },
    { name: "extras", content: JSON.stringify([from(first, "extras", 1)]) },
  ]);
  expect(await filesOf(answer)).toEqual([
    ["extras", 0, "two.txt", "two"],
    ["extras", 1, "two (2).txt", "newer"],
    ORDERS,
  ]);
});

test("execute, with a kept file for another input than before, judges it by that input", async () => {
  const extras = from(first, "orders");
  expect(await filesOf(await send({ inputs: { orders: from(first, "orders"), extras } }))).toEqual([
    ["extras", 0, "orders.csv", "a,b\n"],
    ORDERS,
  ]);
  const answer = await send({ orders: from(first, "orders"), picture: from(first, "orders") });
  expect([answer.status, answer.json()]).toMatchObject([
    400,
    { details: [{ input: "picture", message: '"orders.csv" is not accepted. Send .png.' }] },
  ]);
});

test("a kept file, after those of the first execution were removed, is still the second one's; naming the first is refused", async () => {
  const old = await run(workflow);
  const second = (await send({ orders: from(old, "orders") })).json()["executionId"] as ExecutionId;
  await queryRows(service.db, `update executions set finished_at = finished_at - interval '40 days' where id = :old`, {
    old,
  });
  const retention = { keyDays: null, fileDays: 30, logDays: null, executionDays: null };
  await removeOld({ db: service.db, storage: service.storage, retention });
  const before = await findLeftovers(service);
  const refused = await send({ orders: from(old, "orders") });
  expect([refused.status, refused.json()]).toMatchObject([
    400,
    {
      message: expect.stringContaining("orders names a file"),
      details: [{ input: "orders", message: expect.stringContaining("no longer kept. Choose the file again.") }],
    },
  ]);
  // Nothing is copied to judge a call: the record says it.
  const judged = await send({ orders: from(old, "orders") }, { route: "validate" });
  const message = `names a file of ${old} that is no longer kept. Choose the file again.`;
  expect([judged.status, judged.json()]).toMatchObject([400, { details: [{ input: "orders", message }] }]);
  expect(await findLeftovers(service)).toEqual(before);
  expect(await filesOf(await send({ orders: from(second, "orders") }))).toEqual([ORDERS]);
});

test("a kept file, gone from storage before the record says so, is refused by name and leaves nothing", async () => {
  const old = await run(workflow);
  const [file] = await queryRows<{ key: string }>(
    service.db,
    "select storage_key as key from execution_files where execution_id = :old and name = 'orders'",
    { old },
  );
  await service.storage.delete(file?.key ?? "");
  const before = await findLeftovers(service);
  // The first of the two is copied by then.
  const refused = await send({ extras: [from(first, "extras")], orders: from(old, "orders") });
  expect([refused.status, refused.json()]).toMatchObject([400, { details: [{ input: "orders" }] }]);
  expect(await findLeftovers(service)).toEqual(before);
});

test("execute, with a file that cannot be had again, says for each input why, and keeps nothing", async () => {
  const stranger = await aHouse(service);
  const foreign = await run(
    await aWorkflow(service.db, { accountId: stranger.accountId, inputs: INPUTS }),
    stranger.member,
  );
  const other = await run(await aWorkflow(service.db, { accountId: house.accountId, inputs: INPUTS }));
  const before = await findLeftovers(service);
  for (const id of [foreign, other, createExecutionId()]) {
    const answer = await send({ orders: from(id, "orders") });
    const message = `names ${id}, and this workflow has no execution of that id.`;
    expect([answer.status, answer.json()]).toMatchObject([400, { details: [{ input: "orders", message }] }]);
  }
  const answer = await send({
    orders: from(first, "orders", 1),
    extras: [from(first, "orders"), { from: 3 }],
    picture: from(first, "none"),
  });
  expect([
    answer.status,
    (answer.json()["details"] as { input: string; message: string }[]).map(
      ({ input, message }) => `${input} ${message}`,
    ),
  ]).toEqual([
    400,
    [
      'extras must name a file of an earlier execution as {"from": {"executionId": "ex_…", "input": "…", "position": 0}}.',
      `orders names a file that ${first} was not given: number 1 of the input "orders".`,
      `picture names a file that ${first} was not given: number 0 of the input "none".`,
    ],
  ]);
  expect(await findLeftovers(service)).toEqual(before);
});

test("execute, with more kept files than a request carries, or than an input takes, is refused", async () => {
  const extras = Array.from({ length: 4 }, () => from(first, "extras"));
  const tooMany = await send({ orders: from(first, "orders"), extras });
  expect([tooMany.status, tooMany.text()]).toEqual([400, expect.stringContaining("at most 4 files")]);
  const four = await send({ extras, orders: null });
  expect(four.json()["details"]).toContainEqual({ input: "extras", message: "takes at most 3 files, not 4." });
  const twice = await send([
    { name: "orders", fileName: "orders.csv", content: "x", contentType: "text/csv" },
    { name: "orders", content: JSON.stringify(from(first, "orders")) },
  ]);
  expect(twice.json()["details"]).toEqual([{ input: "orders", message: "takes one file, not 2." }]);
});

test("a program with the key cannot name files of earlier executions", async () => {
  const headers = { "x-api-key": workflow.apiKey, "content-type": "application/json" };
  const path = `/api/workflows/${workflow.workflowId}/execute`;
  const body = JSON.stringify({ orders: from(first, "orders") });
  const json = await service.call(path, { method: "POST", headers, body });
  expect([json.status, json.json()["details"]]).toEqual([
    400,
    [{ input: "orders", message: "is a file. Send it as multipart/form-data, in a part named orders." }],
  ]);
  const form = aForm([{ name: "orders", content: body }]);
  const parts = await service.call(path, {
    method: "POST",
    body: form.body,
    headers: { "x-api-key": workflow.apiKey, ...form.headers },
  });
  expect([parts.status, parts.json()["details"]]).toEqual([
    400,
    [{ input: "orders", message: "is a file. Send it as a part with a file name." }],
  ]);
});

test("validate, with files of an earlier execution, judges them and copies nothing", async () => {
  const before = await findLeftovers(service);
  const good = await send({ orders: from(first, "orders") }, { who: house.viewer, route: "validate" });
  expect([good.status, good.json()["valid"]]).toEqual([200, true]);
  expect((await send({ orders: from(first, "orders", 7) }, { route: "validate" })).status).toBe(400);
  expect(await findLeftovers(service)).toEqual(before);
});

test("execute, sent again with its key and the same kept file, is the execution that there is", async () => {
  const call = { json: { orders: from(first, "orders") }, headers: { "idempotency-key": "kept" } };
  const path = `/api/workflows/${workflow.workflowId}/execute`;
  const [one, two] = [await ask(service, path, call, house.member), await ask(service, path, call, house.member)];
  expect([two.status, two.headers["idempotent-replayed"], two.json()]).toEqual([200, "true", one.json()]);
});
