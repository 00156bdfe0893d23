import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { type Db, queryRows } from "../../db/connect.ts";
import { type HostLacks, listHostLacks, notePresence } from "../../db/executions/hosts.ts";
import type { CommitId, WorkflowId } from "../../domain/ids.ts";
import { startPresence, watchWorkers } from "../../src/executions/presence.ts";
import { createLog } from "../../src/log.ts";
import { aManifest } from "../support/builders.ts";
import { aDatabase, type TestDatabase } from "../support/postgres.ts";

const log = createLog({ level: "silent", terminal: false });
const ALL: HostLacks = { isolationProblems: [], networkProblem: null, commits: [] };
const [workflowId, commitId] = ["wf_1" as WorkflowId, "c1" as CommitId];
const hello = { workflowId, commitId, manifest: aManifest() };
const networked = { ...hello, manifest: aManifest({ limits: { ...hello.manifest.limits, network: true } }) };

let database: TestDatabase;
let db: Db;

beforeAll(async () => {
  database = await aDatabase();
  db = database.db;
});

afterAll(() => database?.drop());

const say = (hostId: string, lacks: HostLacks | null, seconds = 60) =>
  notePresence(db, { hostId, processId: `proc_${hostId}`, seconds, lacks });

/** What a process says that has just looked. */
async function find(...commits: (typeof hello)[]): Promise<(string | undefined)[]> {
  const watch = watchWorkers({ db, log });
  await watch.close();
  return commits.map(watch.problemOf);
}

async function findNetworkProblem(): Promise<string | undefined> {
  const watch = watchWorkers({ db, log });
  await watch.close();
  return watch.networkProblem();
}

test("what no worker has is a problem, with the reason of one; what one has, or nobody knows, is none", async () => {
  expect(await find(hello, networked)).toEqual([undefined, undefined]);
  await say("api", null);
  expect(await findNetworkProblem()).toBeUndefined();
  await say("one", {
    ...ALL,
    networkProblem: "No tun.",
    commits: [{ workflowId, commitId, reason: "No Python 3.9." }],
  });
  const [python, network] = await find(hello, networked);
  expect(python).toBe("No worker can run it. One says: No Python 3.9.");
  expect(network).toMatch(/^No worker can run it\. One says: .*limits\.network.*: No tun\.$/);
  expect(await find({ ...hello, commitId: "c2" as CommitId })).toEqual([undefined]);
  await say("two", { ...ALL, isolationProblems: ["There is no runsc."] });
  expect((await find(hello))[0]).toContain("No Python 3.9.");
  expect(await findNetworkProblem()).toBeUndefined();
  await say("two", { ...ALL, isolationProblems: ["There is no runsc."], networkProblem: "No nft." });
  expect(await findNetworkProblem()).toBe("No tun.");
  await say("three", ALL);
  expect(await find(hello, networked)).toEqual([undefined, undefined]);
  expect(await findNetworkProblem()).toBeUndefined();
  await say("three", ALL, -1);
  expect((await find(hello))[0]).toContain("No Python 3.9.");
});

test("a host, from its start to its end, says that it is there and what it lacks", async () => {
  await queryRows(db, "delete from hosts");
  let lacking = ALL;
  const deps = { db, hostId: "here", processId: "proc_here", hostGoneSeconds: 0.3, log };
  const presence = startPresence({ ...deps, lacks: { list: () => lacking } });
  while ((await listHostLacks(db)).length === 0) await sleep(10);
  lacking = { ...ALL, networkProblem: "No tun." };
  while ((await listHostLacks(db))[0]?.networkProblem !== "No tun.") await sleep(10);
  await presence.close();
  expect(await queryRows(db, "select from hosts")).toEqual([]);
});
