import { S3ServiceException } from "@aws-sdk/client-s3";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { Router } from "express";
import { connect, type Db, queryRows } from "../../db/connect.ts";
import { migrate } from "../../db/migrate.ts";
import { type Postgres, startPostgres } from "../../src/setup/servers/postgres.ts";
import { createS3Storage } from "../../storage/s3.ts";
import { aFolder, afterwards, RUN_AS } from "../setup/servers/surroundings.ts";
import { aWorkflow, type TestWorkflow } from "../support/builders.ts";
import { aService, execute, type TestService } from "./service.ts";

let postgres: Postgres;
let db: Db;
let service: TestService;
let workflow: TestWorkflow;
/** What a route of the test throws. */
let fault: () => unknown = () => undefined;

beforeAll(async () => {
  const folder = aFolder();
  postgres = await startPostgres({
    env: { PATH: process.env.PATH },
    dataDir: `${folder}/data`,
    runAs: RUN_AS,
    outsideFolder: `${folder}/outside`,
    report: () => undefined,
    log: () => undefined,
  });
  afterwards(() => postgres.stop());
  db = connect(postgres.connection, { poolMax: 5, applicationName: "test" });
  await migrate(db);
  const router = Router();
  router.get("/faulty", async () => {
    await fault();
  });
  service = await aService({ db, routers: [router] });
  workflow = await aWorkflow(db, {});
}, 120_000);

afterAll(async () => {
  await service?.close();
  await db?.destroy();
});

const AWAY = [503, { error: "Service busy", message: expect.stringContaining("database") }, "5"];

async function expectAway(answers: readonly Promise<Awaited<ReturnType<TestService["call"]>>>[]): Promise<void> {
  for (const answer of await Promise.all(answers))
    expect([answer.status, answer.json(), answer.headers["retry-after"]]).toEqual(AWAY);
}

test.each([
  ["its connection is terminated", "select pg_terminate_backend(pg_backend_pid())"],
  ["a statement takes too long", "set statement_timeout = 20; select pg_sleep(5)"],
])("a request, when %s, is answered 503 with Retry-After", async (_what, sql) => {
  fault = () => db.raw(sql);
  await expectAway([service.call("/api/faulty")]);
  expect(service.logged.at(-1)).toMatchObject({ event: expect.stringMatching(/^request\./) });
  expect(service.logged.some((line) => line["event"] === "request.failed" && line["level"] === 40)).toBe(true);
});

test("a request, when a statement is wrong, is answered 500: that is no matter of waiting", async () => {
  fault = () => queryRows(db, "select no_such_column");
  expect((await service.call("/api/faulty")).status).toBe(500);
});

test("a request, when the storage of files cannot be reached or fails by itself, is answered 503; when it refuses us, 500", async () => {
  const settings = { region: "here", bucket: "b", prefix: "", accessKeyId: "a", secretAccessKey: "b" };
  const storage = await createS3Storage({ ...settings, endpoint: "http://127.0.0.1:1", forcePathStyle: true });
  const answerOf = async (thrown: () => unknown) => {
    fault = thrown;
    const { status, headers, json } = await service.call("/api/faulty");
    return [status, headers["retry-after"], (json() as { message: string }).message.split(".")[0]];
  };
  const away = [503, "5", "The storage of files does not answer just now"];
  expect(await answerOf(() => storage.head("executions/x"))).toEqual(away);
  const refuse = (httpStatusCode: number) => () => {
    throw new S3ServiceException({ name: "X", $fault: "server", $metadata: { httpStatusCode } });
  };
  expect(await answerOf(refuse(500))).toEqual(away);
  expect((await answerOf(refuse(403)))[0]).toBe(500);
}, 60_000);

test.each([
  ["EMFILE", "spawn"],
  ["EAGAIN", "spawn"],
])("a request, when the process meets %s, is answered 503", async (code, syscall) => {
  fault = () => {
    throw new Error("It could not be done.", { cause: Object.assign(new Error(code), { code, syscall }) });
  };
  const answer = await service.call("/api/faulty");
  expect([answer.status, answer.headers["retry-after"]]).toEqual([503, "5"]);
});

test("the service, while its database is stopped, answers every kind of request with 503", async () => {
  expect((await execute(service, workflow)).status).toBe(200);
  await postgres.stop();
  const signIn = { email: "owner@example.com", password: "guess guess guess" };
  await expectAway([
    execute(service, workflow),
    service.call("/api/run-logs/ex_00000000000000000000000000", { headers: { "x-api-key": workflow.apiKey } }),
    service.call("/api/session", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(signIn),
    }),
    service.call("/api/session", { headers: { cookie: `__Host-session=${"a".repeat(43)}` } }),
  ]);
  expect((await service.call("/healthz")).status).toBe(200);
});
