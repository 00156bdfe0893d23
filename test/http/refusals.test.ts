import { afterEach, expect, test } from "@jest/globals";
import { rotateKey } from "../../db/accounts/api-keys.ts";
import { deleteWorkflow } from "../../db/commits/workflows.ts";
import { queryRows } from "../../db/connect.ts";
import { createApiKey, hashApiKey } from "../../src/keys/api-key.ts";
import { anAccount, anInput, aWorkflow, type TestWorkflow } from "../support/builders.ts";
import { aFileService, execute, expectRefused, forgetExecutions, type TestServiceOptions } from "./service.ts";

let accepting = true;
let reason: string | undefined;
let hostProblem: string | undefined;

const service = await aFileService({
  contact: "sales@example.test",
  executions: {
    capacity: () => ({ accepting, ...(reason === undefined ? {} : { reason }), retryAfterSeconds: 7 }),
    hostProblem: () => hostProblem,
  } as TestServiceOptions["executions"] & object,
});

afterEach(async () => {
  accepting = true;
  reason = undefined;
  hostProblem = undefined;
  await forgetExecutions(service);
});

const KEY_MESSAGE = "The API key is invalid or missing. Send the workflow's own key in the header x-api-key.";
const UNAUTHORIZED = { error: "Unauthorized", message: KEY_MESSAGE };
const NOT_FOUND = { error: "Workflow not found", message: expect.any(String) };

test("execute, without a key, answers 401", async () => {
  const workflow = await aWorkflow(service.db);
  const answer = await service.call(`/api/workflows/${workflow.workflowId}/execute`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: "{}",
  });
  await expectRefused(service, answer, 401, UNAUTHORIZED);
  await expectRefused(service, await execute(service, { ...workflow, apiKey: "" }), 401, UNAUTHORIZED);
  const unknown = await service.call("/api/workflows/wf_0000000000000000000000000a/execute", { method: "POST" });
  await expectRefused(service, unknown, 401, UNAUTHORIZED);
});

test("execute, with a wrong, foreign, doubled or revoked key, answers 401", async () => {
  const workflow = await aWorkflow(service.db);
  const other = await aWorkflow(service.db);
  await expectRefused(service, await execute(service, { ...workflow, apiKey: createApiKey() }), 401, UNAUTHORIZED);
  await expectRefused(service, await execute(service, { ...workflow, apiKey: other.apiKey }), 401, UNAUTHORIZED);
  await expectRefused(
    service,
    await execute(service, { ...workflow, apiKey: `${workflow.apiKey}, ${workflow.apiKey}` }),
    401,
    UNAUTHORIZED,
  );
  const newKey = createApiKey();
  await rotateKey(service.db, {
    workflowId: workflow.workflowId,
    keyHash: hashApiKey(newKey),
    keyEncrypted: Buffer.alloc(1),
    graceSeconds: 0,
  });
  await expectRefused(service, await execute(service, workflow), 401, UNAUTHORIZED);
  expect((await execute(service, { ...workflow, apiKey: newKey })).status).toBe(200);
});

test("execute, with a replaced key, works until its grace is over", async () => {
  const workflow = await aWorkflow(service.db);
  await rotateKey(service.db, {
    workflowId: workflow.workflowId,
    keyHash: hashApiKey(createApiKey()),
    keyEncrypted: Buffer.alloc(1),
    graceSeconds: 3600,
  });
  expect((await execute(service, workflow)).status).toBe(200);
  await queryRows(
    service.db,
    `update api_keys set expires_at = now() - interval '1 second' where expires_at is not null`,
  );
  expect((await execute(service, workflow)).json()).toEqual(UNAUTHORIZED);
});

test("execute, of a workflow that is unknown, malformed, deleted or without a commit, answers 404", async () => {
  const key = createApiKey();
  await expectRefused(
    service,
    await execute(service, { workflowId: "wf_0000000000000000000000000a" as TestWorkflow["workflowId"], apiKey: key }),
    404,
    NOT_FOUND,
  );
  await expectRefused(
    service,
    await execute(service, { workflowId: "nonsense%00" as TestWorkflow["workflowId"], apiKey: key }),
    404,
    NOT_FOUND,
  );
  const empty = await aWorkflow(service.db, { commit: false });
  await expectRefused(service, await execute(service, empty), 404, {
    error: "Workflow not found",
    message: expect.stringContaining("no committed version"),
  });
  const gone = await aWorkflow(service.db);
  await deleteWorkflow(service.db, gone.workflowId, () => new Date());
  await expectRefused(service, await execute(service, gone), 404, NOT_FOUND);
});

test.each([
  ["disabled", { api: { enabled: false }, schedule: null }],
  ["not declared", { api: null, schedule: null }],
])("execute, when the API trigger is %s, answers 403, but 401 to a wrong key", async (_state, triggers) => {
  const workflow = await aWorkflow(service.db, { manifest: { triggers } });
  await expectRefused(service, await execute(service, workflow), 403, {
    error: "API trigger disabled",
    message: expect.stringContaining("triggers.api.enabled"),
  });
  await expectRefused(service, await execute(service, { ...workflow, apiKey: createApiKey() }), 401, UNAUTHORIZED);
});

test.each([
  ["no content type", undefined],
  ["text", "text/plain"],
  ["a form of another kind", "application/x-www-form-urlencoded"],
  ["another charset", "application/json; charset=utf-16"],
])("execute, with %s, answers 415", async (_what, type) => {
  const workflow = await aWorkflow(service.db);
  const headers = { "x-api-key": workflow.apiKey, ...(type === undefined ? {} : { "content-type": type }) };
  const answer = await service.call(`/api/workflows/${workflow.workflowId}/execute`, {
    method: "POST",
    headers,
    body: "{}",
  });
  await expectRefused(service, answer, 415, {
    error: "Unsupported media type",
    message: expect.stringContaining("application/json"),
  });
});

test("execute, with a compressed body, answers 415", async () => {
  const workflow = await aWorkflow(service.db);
  await expectRefused(service, await execute(service, workflow, "{}", { "content-encoding": "gzip" }), 415, {
    error: "Unsupported media type",
    message: expect.stringContaining("uncompressed"),
  });
});

const invalid = (message: unknown) => ({ error: "Invalid request", message });
test.each([
  ["is not JSON", '{"region": EU}', invalid("The body is not valid JSON.")],
  ["is empty", "", invalid(expect.stringContaining("The body is empty."))],
  ["is a list", "[]", invalid(expect.stringContaining("must be a JSON object"))],
  ["is null", "null", invalid(expect.stringContaining("must be a JSON object"))],
  ["is cut off", '{"region": "EU"', invalid(expect.stringContaining("not valid JSON"))],
  ["is not UTF-8", Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]), invalid("The body is not valid UTF-8.")],
  [
    "is nested 65 deep",
    `{"region":${"[".repeat(64)}${"]".repeat(64)}}`,
    invalid("The body is nested deeper than 64 levels."),
  ],
  ["is nested 500,000 deep", "[".repeat(500_000), invalid("The body is nested deeper than 64 levels.")],
])("execute, when the body %s, answers 400", async (_what, body, expected) => {
  const workflow = await aWorkflow(service.db, { inputs: [anInput("json", "region")] });
  await expectRefused(service, await execute(service, workflow, body), 400, expected);
});

test("execute, with 64 levels and with brackets inside a string, is not refused for its depth", async () => {
  const workflow = await aWorkflow(service.db, { inputs: [anInput("json", "a"), anInput("string", "b")] });
  const nested = `${"[".repeat(63)}${"]".repeat(63)}`;
  expect(
    (await execute(service, workflow, `{"a":${nested},"b":"${"[".repeat(100)}\\"${"[".repeat(100)}"}`)).status,
  ).toBe(200);
});

test("execute, with a byte order mark, reads the body", async () => {
  const workflow = await aWorkflow(service.db, { inputs: [anInput("string", "region")] });
  expect((await execute(service, workflow, '\ufeff{"region":"EU"}')).status).toBe(200);
});

test("execute, with a JSON body over 1 MB, answers 413 whether its length is announced or not", async () => {
  const workflow = await aWorkflow(service.db, { inputs: [anInput("text", "a")] });
  const tooLarge = { error: "Payload too large", message: expect.stringContaining("1048576 bytes") };
  const body = `{"a":"${"x".repeat(1_048_576)}"}`;
  await expectRefused(service, await execute(service, workflow, body), 413, tooLarge);
  await expectRefused(
    service,
    await execute(service, workflow, body, { "transfer-encoding": "chunked" }),
    413,
    tooLarge,
  );
  expect((await execute(service, workflow, `{"a":"${"x".repeat(900_000)}"}`)).status).toBe(200);
});

test("execute, with several problems, answers 400 with all of them", async () => {
  const workflow = await aWorkflow(service.db, {
    inputs: [
      anInput("string", "region"),
      anInput("integer", "count"),
      anInput("file", "orders"),
      anInput("select", "size", { options: ["s", "m"] }),
    ],
  });
  const answer = await execute(service, workflow, { regoin: "EU", count: "3", orders: "a.csv", size: "xl" });
  const { details, ...rest } = answer.json() as { details: { input: string; message: string }[] };
  expect(rest).toEqual({ error: "Invalid request", message: expect.stringContaining("count must be a whole number") });
  expect(details.map(({ input }) => input).sort()).toEqual(["count", "orders", "region", "regoin", "size"]);
  const messageOf = (name: string) => details.find(({ input }) => input === name)?.message;
  expect(messageOf("regoin")).toContain('Did you mean "region"?');
  expect(messageOf("region")).toContain("is required");
  expect(messageOf("orders")).toContain("multipart/form-data");
  await expectRefused(service, answer, 400, { ...rest, details });
});

test.each([
  ["1e999", '{"a":1e999}'],
  ["a NUL", '{"a":"x\\u0000y"}'],
  ["half a surrogate pair", '{"a":"\\ud800"}'],
  ["a key with a NUL", '{"a":{"x\\u0000":1}}'],
])("execute, with %s in a JSON value, answers 400 and names the input", async (_what, body) => {
  const workflow = await aWorkflow(service.db, { inputs: [anInput("json", "a")] });
  const answer = await execute(service, workflow, body);
  await expectRefused(service, answer, 400, {
    error: "Invalid request",
    message: expect.any(String),
    details: [{ input: "a", message: expect.any(String) }],
  });
});

test("execute, when the account has too little, answers 402 with what is needed", async () => {
  const accountId = await anAccount(service.db, { credits: "3" });
  const workflow = await aWorkflow(service.db, { accountId });
  const answer = await execute(service, workflow);
  expect(answer.json()["message"]).toContain("sales@example.test");
  await expectRefused(service, answer, 402, {
    error: "Insufficient credits",
    message: expect.stringContaining("Top up"),
    needed: 3.001,
    available: 3,
  });
});

test("execute, when there is no room, answers 503 with Retry-After before the body is read", async () => {
  accepting = false;
  const workflow = await aWorkflow(service.db);
  const answer = await execute(service, workflow, "not even JSON");
  expect(answer.headers["retry-after"]).toBe("7");
  await expectRefused(service, answer, 503, {
    error: "Service busy",
    message: expect.stringContaining("try again in 7 seconds"),
  });
});

test("execute, when the disk has no room for the outputs of one execution, answers 503 and says so", async () => {
  [accepting, reason] = [false, "The disk has room for 0 MB of outputs."];
  const answer = await execute(service, await aWorkflow(service.db));
  await expectRefused(service, answer, 503, {
    error: "Service busy",
    message: "The disk has room for 0 MB of outputs. Nothing was started or charged; try again in 7 seconds.",
  });
});

test("execute, where the host lacks what programs need, answers 503 at once with what that is", async () => {
  const workflow = await aWorkflow(service.db);
  hostProblem = "This host has no Python 3.12, which the commit asks for.";
  const answer = await execute(service, workflow, {});
  await expectRefused(service, answer, 503, {
    error: "Service busy",
    message: `${hostProblem} Nothing was started or charged; try again in 30 seconds.`,
  });
  expect(answer.headers["retry-after"]).toBe("30");
});

test("execute, when the database refuses, answers 500 without detail and keeps nothing", async () => {
  const workflow = await aWorkflow(service.db, { inputs: [anInput("string", "note")] });
  await queryRows(service.db, "alter table executions add constraint refuse_all check (false) not valid");
  try {
    const answer = await execute(service, workflow, { note: "private words" });
    await expectRefused(service, answer, 500, {
      error: "Internal server error",
      message: expect.stringContaining("req_"),
      requestId: answer.headers["x-request-id"],
    });
    expect(answer.text()).not.toContain("refuse_all");
    expect(
      service.logged.some((line) => line["event"] === "request.failed" && JSON.stringify(line).includes("refuse_all")),
    ).toBe(true);
    expect(JSON.stringify(service.logged)).not.toContain("private words");
  } finally {
    await queryRows(service.db, "alter table executions drop constraint refuse_all");
  }
});

test("execute, with GET, answers 405 with Allow", async () => {
  const workflow = await aWorkflow(service.db);
  const answer = await service.call(`/api/workflows/${workflow.workflowId}/execute`, {
    headers: { "x-api-key": workflow.apiKey },
  });
  expect(answer.headers.allow).toBe("POST");
  await expectRefused(service, answer, 405, { error: "Method not allowed", message: expect.any(String) });
});

test("execute, with keys such as __proto__, takes them as names of unknown inputs and nothing else", async () => {
  const workflow = await aWorkflow(service.db, { inputs: [anInput("string", "region", { required: false })] });
  const answer = await execute(service, workflow, '{"__proto__":{"region":"US"},"constructor":1,"toString":2}');
  const { details } = answer.json() as { details: { input: string }[] };
  expect(details.map(({ input }) => input)).toEqual(["__proto__", "constructor", "toString"]);
  await expectRefused(service, answer, 400, { error: "Invalid request", message: expect.any(String), details });
  expect(({} as Record<string, unknown>)["region"]).toBeUndefined();
});
