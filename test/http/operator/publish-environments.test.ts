import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { queryRows } from "../../../db/connect.ts";
import { EnvironmentError } from "../../../environments/build-steps.ts";
import { createArchive } from "../../../src/publish/archive.ts";
import type { PublisherDeps } from "../../../src/publish/publish.ts";
import { fakeEnvironments } from "../editor/parts.ts";
import { anOperatorService, type OperatorService } from "./operator-service.ts";

const current: PublisherDeps["environments"] = { ...fakeEnvironments() };
let service: OperatorService;
beforeAll(async () => {
  service = await anOperatorService({
    environments: {
      lock: (wanted, options) => current.lock(wanted, options),
      ensure: (key, lock, options) => current.ensure(key, lock, options),
      measure: (keys) => current.measure(keys),
    },
  });
});
afterAll(() => service.close());

const files = (requirement: string) => [
  { path: "config.yaml", content: Buffer.from("name: x\ntriggers: { api: { enabled: true } }\n"), executable: false },
  { path: "main.py", content: Buffer.from(""), executable: false },
  { path: "requirements.txt", content: Buffer.from(requirement), executable: false },
];
const publish = (requirement: string) =>
  service.operator("/api/publish", {
    method: "POST",
    headers: { "content-type": "application/x-tar" },
    body: createArchive(files(requirement)),
  });
const stored = async () =>
  queryRows(
    service.db,
    "select id from workflows union all select id from git_objects union all select key from environments",
  );

test("POST /publish, when a package does not exist, answers 400 with its line and the build's log, and stores nothing", async () => {
  const problem = { file: "requirements.txt", line: 1, column: 1, message: "There is no version 9 of nothing." };
  current.lock = async () => ({ ok: false, problems: [problem], log: "looked everywhere" });
  const answer = await publish("nothing==9\n");
  expect([answer.status, answer.json()]).toMatchObject([
    400,
    { error: "Invalid request", details: [problem], buildLog: "looked everywhere" },
  ]);
  expect(await stored()).toEqual([]);
});

test("POST /publish, when the build fails, answers 400 with the log and stores nothing", async () => {
  current.lock = fakeEnvironments().lock;
  current.ensure = async () => {
    throw new EnvironmentError("timed_out", "The build took longer than 10 minutes.", "step 1\nstep 2");
  };
  const answer = await publish("slow==1\n");
  expect([answer.status, answer.json()]).toMatchObject([
    400,
    {
      details: [{ file: "requirements.txt", message: "The build took longer than 10 minutes." }],
      buildLog: "step 1\nstep 2",
    },
  ]);
  expect(await stored()).toEqual([]);
});

test("POST /publish, when the build of one package fails, points to the line that asks for it", async () => {
  current.ensure = async () => {
    throw new EnvironmentError("refused", "The package slow==1 could not be built.", "");
  };
  const answer = await publish("# why\nquick==1\n  slow==1\n");
  expect(answer.json()).toMatchObject({ details: [{ file: "requirements.txt", line: 3, column: 3 }] });
});

test("POST /publish, when the environment was built, answers with what that said", async () => {
  current.lock = async (requirements, options) => {
    options.report("resolved");
    return fakeEnvironments().lock(requirements, options);
  };
  current.ensure = async (_key, _lock, options) => options.report(`built with ${options.build}`);
  expect((await publish("any==1\n")).json()).toMatchObject({
    created: true,
    buildLog: "resolved\nbuilt with wheels\n",
  });
  await queryRows(service.db, "truncate workflows, git_objects, commits, environments cascade");
});

test("POST /publish, when the disk is full, answers 500 and stores nothing", async () => {
  current.ensure = async () => {
    throw new EnvironmentError("disk_full", "No space left.", "");
  };
  const answer = await publish("any==1\n");
  expect([answer.status, answer.json()["error"]]).toEqual([500, "Internal server error"]);
  expect(await stored()).toEqual([]);
});

test("POST /publish, when the account's packages take all they may, refuses others, and takes those that it has", async () => {
  Object.assign(current, fakeEnvironments());
  expect((await publish("first==1\n")).status).toBe(201);
  current.measure = async (keys) => keys.length * 20 * 1024 ** 3;
  const { status, text } = await publish("second==1\n");
  expect([status, text()]).toEqual([400, expect.stringContaining("no others are added from 20 GiB on")]);
  expect((await publish("first==1\n")).status).toBe(201);
});
