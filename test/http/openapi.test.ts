import { gunzipSync } from "node:zlib";
import { beforeAll, expect, test } from "@jest/globals";
import { ERROR_TEXT, type ErrorCode } from "../../domain/errors.ts";
import { STATUS } from "../../src/http/errors.ts";
import { nameError } from "../../src/http/routes/schemas.ts";
import { ROUTE_NAMES, ROUTES } from "../../src/http/routes/table.ts";
import {
  checkExamples,
  type Document,
  expectValid,
  findUnusable,
  operationOf,
  operationsOf,
} from "./openapi-document.ts";
import { aFileService } from "./service.ts";

const PATH = "/api/openapi.json";
/** Of no operation: it is the answer to a method that the document does not have. */
const OF_NO_OPERATION = "method_not_allowed";

let document: Document;

const service = await aFileService();

beforeAll(async () => {
  document = (await service.call(PATH)).json() as unknown as Document;
});

test("OpenAPI document, asked for by anybody, is JSON that an independent validator takes as OpenAPI 3.1", async () => {
  const answer = await service.call(PATH);
  expect([answer.status, answer.headers["content-type"]]).toEqual([200, "application/json; charset=utf-8"]);
  expect(answer.json()).toMatchObject({ openapi: "3.1.0", servers: [{ url: service.url }] });
  await expectValid(document);
});

test("OpenAPI document, with a mistake in it, is refused by the same validator", async () => {
  const wrong = structuredClone(document) as unknown as { paths: Record<string, { get: { responses: unknown } }> };
  (wrong.paths["/healthz"] as { get: { responses: unknown } }).get.responses = { 99: {} };
  await expect(expectValid(wrong as never)).rejects.toThrow(Error);
});

test("OpenAPI document, sent again to who has it, is 304 until it changes", async () => {
  const { headers } = await service.call(PATH);
  const again = await service.call(PATH, { headers: { "if-none-match": String(headers.etag) } });
  expect([again.status, again.bytes.length, again.headers.etag]).toEqual([304, 0, headers.etag]);
  expect((await service.call(PATH, { headers: { "if-none-match": '"other"' } })).status).toBe(200);
});

test("OpenAPI document, asked for by who takes it compressed, is the same in far fewer bytes, under another tag", async () => {
  const plain = await service.call(PATH);
  const zipped = await service.call(PATH, { headers: { "accept-encoding": "gzip" } });
  expect([zipped.headers["content-encoding"], zipped.headers.vary]).toEqual(["gzip", "Accept-Encoding"]);
  expect(gunzipSync(zipped.bytes).toString()).toBe(plain.text());
  expect(zipped.bytes.length).toBeLessThan(plain.bytes.length / 5);
  expect(zipped.headers.etag).not.toBe(plain.headers.etag);
});

test("OpenAPI document, route by route, has each of the table with its summary and nothing else", () => {
  const found = Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, { operationId }]) => `${operationId}: ${method} ${path}`),
  );
  expect(found.sort()).toEqual(
    ROUTE_NAMES.map((name) => `${name}: ${ROUTES[name].method} ${ROUTES[name].path}`).sort(),
  );
});

test("OpenAPI document, in all its answers, has every code of domain/errors.ts at its status, described by its text", () => {
  const shown = new Map<string, Set<number>>();
  for (const { responses } of operationsOf(document)) {
    for (const [status, { content }] of Object.entries(responses)) {
      const names = [...JSON.stringify(content ?? {}).matchAll(/#\/components\/schemas\/(\w+)/g)];
      for (const [, name = ""] of names) shown.set(name, (shown.get(name) ?? new Set()).add(Number(status)));
    }
  }
  const codes = (Object.keys(ERROR_TEXT) as ErrorCode[]).filter((code) => code !== OF_NO_OPERATION);
  expect(codes.map((code) => [code, ...(shown.get(nameError(code)) ?? [])])).toEqual(
    codes.map((code) => [code, STATUS[code]]),
  );
  for (const code of codes)
    expect(document.components.schemas[nameError(code)]).toMatchObject({
      properties: { error: { const: ERROR_TEXT[code] } },
      required: expect.arrayContaining(["error", "message"]),
    });
});

test("OpenAPI document, of execute, names its headers, its bodies, the wait for 202 and the stream of events", () => {
  const { parameters, requestBody, responses, security } = operationOf(document, "executeWorkflow");
  expect(parameters.map(({ name }) => name)).toEqual(
    [
      ["workflowId", "Idempotency-Key", "Prefer"],
      ["Webhook-Url", "Webhook-Secret"],
    ].flat(),
  );
  expect(Object.keys(requestBody?.content ?? {})).toEqual(["application/json", "multipart/form-data"]);
  expect(security).toEqual([{ apiKey: [] }, { session: [] }, { accessToken: [] }]);
  expect(Object.keys(responses).map(Number)).toEqual([
    200, 202, 400, 401, 402, 403, 404, 409, 413, 415, 429, 500, 503, 507,
  ]);
  expect(Object.keys(responses["200"]?.content ?? {})).toEqual(["application/json", "text/event-stream"]);
  const headersOf = (status: string): string[] => Object.keys(responses[status]?.headers ?? {});
  const always = ["X-Request-Id", "X-Execution-Id", "Location"];
  const limits = ["RateLimit", "RateLimit-Policy"];
  const replayed = ["Idempotent-Replayed", "Preference-Applied", "Server-Timing"];
  expect(headersOf("200")).toEqual(expect.arrayContaining([...always, ...limits, ...replayed]));
  expect(headersOf("202")).toEqual(expect.arrayContaining([...always, ...limits, ...replayed, "Retry-After"]));
  expect(headersOf("429")).toEqual(expect.arrayContaining([...limits, "Retry-After"]));
  expect(headersOf("503")).toEqual(expect.arrayContaining(["Retry-After"]));
});

test("OpenAPI document, example by example, shows what its own schemas take", async () => {
  const { count, problems } = await checkExamples(document);
  expect(problems).toEqual([]);
  expect(count).toBeGreaterThan(8);
});

test("OpenAPI document, schema by schema, has nothing that generators of clients cannot use", () => {
  expect(findUnusable(document)).toEqual([]);
});

test("the check for generators, given one of each thing that they cannot use, says so", () => {
  const wrong = structuredClone(document) as unknown as { components: { schemas: Record<string, unknown> } };
  Object.assign(wrong.components.schemas, {
    Unused: { type: "object", properties: { a: { const: true }, b: { type: "object" } } },
    Others: { type: "array", items: { type: "string", enum: ["x"] } },
    OtherId: { type: "string", pattern: "^wf_[0-9a-z]{16,40}$" },
  });
  expect(findUnusable(wrong as never)).toEqual([
    "components.schemas.Unused.a: an optional constant",
    "components.schemas.Unused.properties.a: a constant that is no text, or has no type",
    "components.schemas.Unused.properties.b: an object of nothing",
    "components.schemas.Others: options of a list that are no component",
    "components.schemas.OtherId: an id without an upper length",
    "Unused: nothing refers to it",
    "Others: nothing refers to it",
    "OtherId: nothing refers to it",
  ]);
});

test("the check of examples, given one that its schema does not take, says so", async () => {
  const wrong = structuredClone(document);
  Object.assign(operationOf(wrong, "linkFile").requestBody?.content["application/json"] ?? {}, {
    example: { expiresInSeconds: "long" },
  });
  expect((await checkExamples(wrong)).problems).toEqual([expect.stringContaining("linkFile application/json")]);
});
