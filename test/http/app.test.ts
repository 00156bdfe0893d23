import { setTimeout as sleep } from "node:timers/promises";
import { connect as tlsConnect } from "node:tls";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import express, { Router } from "express";
import { z } from "zod";
import { ERROR_TEXT, type ErrorCode } from "../../domain/errors.ts";
import { CHECKS_ANSWERS } from "../../src/http/answers/answer-check.ts";
import { sendAnswer } from "../../src/http/answers/body.ts";
import type { Readiness } from "../../src/http/deps.ts";
import { ApiError, STATUS } from "../../src/http/errors.ts";
import { aService, type TestService } from "./service.ts";

let service: TestService;
let readiness: Readiness = { ready: true, checks: {} };

beforeAll(async () => {
  const router = Router();
  router.get("/extra", (_request, response) => void response.json({ extra: true }));
  router.get("/broken", () => {
    throw new Error("A secret detail.", { cause: new Error("Its deeper reason.") });
  });
  router.get("/refused/:code", ({ params }) => {
    throw new ApiError(params["code"] as ErrorCode, "Words for people.", { more: 1 }, { "X-More": "2" });
  });
  router.get("/late", (_request, response) => {
    response.set({ "Content-Type": "text/html", "Content-Length": "3", ETag: '"x"' });
    throw new ApiError("not_found", "It is gone.");
  });
  router.get("/half", (_request, response) => {
    response.write("half of");
    throw new Error("A late failure.");
  });
  const Numbers = z.object({ numbers: z.array(z.object({ value: z.number() })) });
  router.post("/numbers", express.json(), ({ body }, response) => sendAnswer(response, Numbers, body));
  router.post(
    "/parsed",
    express.json({ limit: 100, inflate: false }),
    (request, response) => void response.json(request.body),
  );
  service = await aService({
    routers: [router],
    // The errors here have a field of no schema.
    checksAnswers: false,
    readiness: async () => readiness,
    metrics: async () => "treadle_up 1\n",
  });
});

afterAll(() => service?.close());

test.each(["/", "/api", "/api/nothing", "/api/workflow/wf_x", "/nothing/%2F", "/api/run-logs"])(
  "app, at the unknown path %s, answers 404 as JSON",
  async (path) => {
    const answer = await service.call(path);
    expect([answer.status, answer.json()]).toEqual([
      404,
      { error: "Not found", message: expect.stringContaining("docs/api.md") },
    ]);
    expect(answer.headers["content-type"]).toBe("application/json; charset=utf-8");
  },
);

test("app, at an address that cannot be decoded, answers 400 as JSON", async () => {
  const answer = await service.call("/api/run-logs/%E0%A4%A");
  expect([answer.status, answer.json()]).toEqual([400, { error: "Invalid request", message: expect.any(String) }]);
});

test("app, without a Host header, answers 400 as JSON", async () => {
  const socket = tlsConnect({ port: service.port, host: "127.0.0.1", servername: "localhost", ca: service.cert });
  socket.write("GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n");
  let text = "";
  for await (const chunk of socket) text += String(chunk);
  expect(text).toMatch(/^HTTP\/1\.1 400 [^]*\{"error":"Invalid request","message":"The request names no host/);
});

test("app, when something unexpected is thrown, answers 500 without detail and logs all of it", async () => {
  const answer = await service.call("/api/broken");
  const requestId = answer.headers["x-request-id"];
  expect([answer.status, answer.json()]).toEqual([
    500,
    { error: "Internal server error", message: expect.stringContaining(String(requestId)), requestId },
  ]);
  const line = service.logged.find((each) => each["event"] === "request.failed" && each["requestId"] === requestId);
  expect(JSON.stringify(line)).toContain("A secret detail.");
  expect(JSON.stringify(line)).toContain("Its deeper reason.");
});

test("app, when a route fails after it has described its answer, takes the description back", async () => {
  const answer = await service.call("/api/late");
  expect([answer.status, answer.json()]).toEqual([404, { error: "Not found", message: "It is gone." }]);
  expect([answer.headers["content-type"], answer.headers.etag]).toEqual(["application/json; charset=utf-8", undefined]);
});

test("app, when it fails in the middle of an answer, ends the connection instead of pretending", async () => {
  await expect(service.call("/api/half")).rejects.toMatchObject({ code: "ECONNRESET" });
});

test.each(Object.keys(STATUS) as ErrorCode[])(
  "error %s, has its status, its fixed text and what it was given",
  async (code) => {
    const answer = await service.call(`/api/refused/${code}`);
    expect([answer.status, answer.json(), answer.headers["x-more"]]).toEqual([
      STATUS[code],
      { error: ERROR_TEXT[code], message: "Words for people.", more: 1 },
      "2",
    ]);
  },
);

test.each([
  ["its schema's fields", { value: 1 }, 200, ""],
  ["a field too many", { value: 1, unit: "s" }, 500, "numbers.0.unit"],
  ["a field too few", {}, 500, "numbers[0].value"],
  ["a field of another kind", { value: "1" }, 500, "numbers[0].value"],
])("app that checks its answers, given %s, notices each difference", async (_, number, status, named) => {
  const body = JSON.stringify({ numbers: [number] });
  const call = { method: "POST", body, headers: { "content-type": "application/json" } };
  expect((await service.call("/api/numbers", call)).status).toBe(200);
  service.app.set(CHECKS_ANSWERS, true);
  try {
    expect((await service.call("/api/numbers", call)).status).toBe(status);
    expect(JSON.stringify(service.logged.findLast(({ error }) => error !== undefined) ?? "")).toContain(named);
    expect((await service.call("/api/refused/not_found")).status).toBe(500);
  } finally {
    service.app.set(CHECKS_ANSWERS, false);
  }
});

test("app, serves the routers it is given under /api", async () => {
  expect((await service.call("/api/extra")).json()).toEqual({ extra: true });
});

test.each([
  ["is not JSON", "{", {}, 400, "Invalid request"],
  ["is too large", JSON.stringify({ a: "x".repeat(200) }), {}, 413, "Payload too large"],
  ["is compressed", "{}", { "content-encoding": "gzip" }, 415, "Unsupported media type"],
  ["has another charset", "{}", { "content-type": "application/json; charset=latin1" }, 415, "Unsupported media type"],
])(
  "app, when the body that a router's parser reads %s, answers as it does itself",
  async (_what, body, headers, status, error) => {
    const answer = await service.call("/api/parsed", {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body,
    });
    expect([answer.status, answer.json()]).toEqual([status, { error, message: expect.any(String) }]);
  },
);

test("app, gives every answer a request id, safe headers and no hint of what made it", async () => {
  const { headers } = await service.call("/api/extra");
  expect(headers).toMatchObject({
    "x-request-id": expect.stringMatching(/^req_[0-9a-f]{20}$/),
    "content-security-policy": "default-src 'none';frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
  });
  for (const name of ["x-powered-by", "etag", "strict-transport-security", "access-control-allow-origin"])
    expect(headers[name]).toBeUndefined();
});

test("app, with a certificate that browsers accept, tells them to insist on it", async () => {
  const strict = await aService({ strictTransport: true });
  try {
    expect((await strict.call("/healthz")).headers["strict-transport-security"]).toBe("max-age=31536000");
  } finally {
    await strict.close();
  }
});

test("health, says alive, ready or what is wrong, and gives its figures", async () => {
  expect((await service.call("/healthz")).json()).toEqual({ alive: true });
  expect((await service.call("/readyz")).status).toBe(200);
  readiness = { ready: false, checks: { storage: { ok: false, message: "The disk is full. Free some space." } } };
  const answer = await service.call("/readyz");
  expect([answer.status, answer.json()]).toEqual([503, readiness]);
  const metrics = await service.call("/metrics");
  expect([metrics.status, metrics.text(), metrics.headers["content-type"]]).toEqual([
    200,
    "treadle_up 1\n",
    "text/plain; version=0.0.4; charset=utf-8",
  ]);
  expect((await service.call("/healthz", { method: "POST" })).status).toBe(405);
});

test("log, of requests, has the route's pattern and never keys, cookies or names of files", async () => {
  const secret = "trd_verysecretkey";
  await service.call("/api/run-logs/ex_00000000000000000000000000/files/private-name.pdf?token=abc", {
    headers: { "x-api-key": secret, cookie: "__Host-session=hidden" },
  });
  const findLine = () => service.logged.find((each) => each["route"] === "/run-logs/:executionId/files/:fileName");
  for (let tries = 0; tries < 1_500 && findLine() === undefined; tries += 1) await sleep(10);
  expect(findLine()).toMatchObject({
    event: "request.completed",
    method: "GET",
    status: 404,
    answered: true,
    address: expect.stringMatching(/^(::ffff:)?127\.0\.0\.1$/),
    ms: expect.any(Number),
  });
  const text = JSON.stringify(service.logged);
  for (const hidden of [secret, "private-name", "token=abc", "hidden"]) expect(text).not.toContain(hidden);
});
