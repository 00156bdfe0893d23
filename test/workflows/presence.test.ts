import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "@jest/globals";
import { queryRows } from "../../db/connect.ts";
import { type HostLacks, type HostOffers, type HostWord, listHosts, notePresence } from "../../db/executions/hosts.ts";
import type { AccountId, CommitId, WorkflowId } from "../../domain/ids.ts";
import type { Limits } from "../../domain/manifest/manifest.ts";
import { createHostLacks } from "../../src/executions/host-lacks.ts";
import { createPassOn } from "../../src/executions/passing-on.ts";
import { startPresence, watchWorkers } from "../../src/executions/presence.ts";
import { createLog } from "../../src/log.ts";
import { aManifest, anExecution, aWorkflow } from "../support/builders.ts";
import { aFileDatabase } from "../support/file-database.ts";

const log = createLog({ level: "silent", terminal: false });
const ALL: HostLacks = { isolationProblems: [], networkProblem: null, scratchProblem: null, commits: [] };
const [workflowId, commitId] = ["wf_1" as WorkflowId, "c1" as CommitId];
const hello = { workflowId, commitId, manifest: aManifest() };
const networked = { ...hello, manifest: aManifest({ limits: { ...hello.manifest.limits, network: true } }) };

const { db } = await aFileDatabase();

const OFFERS = { pythons: ["3.11"], network: true, isolation: "bubblewrap", memoryBytes: 1, cores: 2 };

function aWord(lacks: HostLacks | null, more: Partial<HostWord> = {}): HostWord {
  const programs = lacks && { slots: 2, running: 1, waiting: 0, lacks, offers: OFFERS };
  return { role: lacks === null ? "api" : "worker", version: "1", draining: false, keyIds: [], programs, ...more };
}

const say = (hostId: string, lacks: HostLacks | null, seconds = 60, more: Partial<HostWord> = {}) =>
  notePresence(db, { hostId, processId: `proc_${hostId}`, seconds, word: aWord(lacks, more) });

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

test("scratch folders on disk, which hosts have no disks, no room or no version for, are a problem until one has them", async () => {
  await queryRows(db, "delete from hosts");
  const limits = { ...hello.manifest.limits, memoryBytes: 1e9, scratchBytes: 20e9 };
  const large = { ...hello, manifest: { ...hello.manifest, limits } };
  const expectProblem = async (problem: string) => {
    const [ofHello, ofLarge] = await find(hello, large);
    expect(ofHello).toBeUndefined();
    expect(ofLarge).toMatch(/^No worker can run it\. One says: .*limits\.scratch/);
    expect(ofLarge).toContain(problem);
  };
  await say("one", { ...ALL, scratchProblem: "There are no loop devices." });
  await expectProblem("There are no loop devices.");
  await say("one", { isolationProblems: [], networkProblem: null, commits: [] });
  await expectProblem("Its version has no disks");
  await say("one", { ...ALL, scratchBytesMax: 19e9 });
  await expectProblem(
    "room for 19 GB of scratch files beside the outputs of all programs, and this workflow may write 20 GB",
  );
  await say("one", { ...ALL, scratchBytesMax: 20e9 });
  expect(await find(large)).toEqual([undefined]);
});

test("the places of all workers that are there and do not stop are added up, and so is what waits for them", async () => {
  await queryRows(db, "delete from hosts");
  let open: readonly string[] = [];
  const OFFLINE = { ...ALL, networkProblem: "No tun." };
  const look = async () => {
    const watch = watchWorkers({ db, log });
    await watch.close();
    expect(watch.listOpen(networked)).toEqual([]); // Its network lacks everywhere.
    open = watch.listOpen(hello);
    return [watch.slots(), watch.waiting(), watch.waiting(accountId), watch.waiting("acct_other" as AccountId)];
  };
  const workflow = await aWorkflow(db);
  const { accountId } = workflow;
  await anExecution(db, { workflow });
  expect(await look()).toEqual([undefined, 1, 1, 0]);
  await say("api", null);
  await say("gone", OFFLINE, -1);
  expect((await look())[0]).toBeUndefined();
  await say("one", OFFLINE);
  await say("two", OFFLINE);
  expect([(await look())[0], open]).toEqual([4, ["one", "two"]]);
  await say("two", OFFLINE, 60, { draining: true });
  expect([(await look())[0], open]).toEqual([2, ["one"]]);
});

const SMALL = { memoryBytes: 1_000, cpu: 2, scratchBytes: 10 };
const LARGE = { memoryBytes: 8_000, cpu: 1, scratchBytes: 10 };
const offering = (offers: Partial<HostOffers>): Partial<HostWord> => ({
  programs: { slots: 2, running: 1, waiting: 0, lacks: ALL, offers: { ...OFFERS, ...offers } },
});
const asking = (limits: Partial<Limits>, python: string | null = null) => ({
  ...hello,
  manifest: aManifest({ python, limits: { ...hello.manifest.limits, memoryBytes: 1, cpu: 1, ...limits } }),
});
async function look() {
  const watch = watchWorkers({ db, log });
  await watch.close();
  return watch;
}

test("an execution is offered to the workers where nothing waits, and to all that can run it where some wait everywhere", async () => {
  await queryRows(db, "delete from hosts");
  const busy: Partial<HostWord> = { programs: { slots: 2, running: 2, waiting: 3, lacks: ALL, offers: OFFERS } };
  await say("one", ALL, 60, busy);
  await say("two", ALL);
  expect((await look()).listOpen(hello)).toEqual(["two"]);
  expect((await look()).hasFree(hello)).toBe(true);
  await say("two", ALL, 60, busy);
  expect((await look()).listOpen(hello)).toEqual(["one", "two"]);
  expect((await look()).hasFree(hello)).toBe(false);
});

test("a Python that no worker has is a problem; those of all workers are known, and so is the most that a program gets on one", async () => {
  await queryRows(db, "delete from hosts");
  expect([(await look()).pythons(), (await look()).ceilings()]).toEqual([undefined, undefined]);
  await say("old", ALL); // Of a release that says no ceilings.
  expect([(await look()).pythons(), (await look()).ceilings()]).toEqual([["3.11"], undefined]);
  expect((await look()).problemOf(asking({}, "3.12"))).toBe(
    "No worker can run it. One says: This workflow needs Python 3.12 (python), and this host has 3.11.",
  );
  expect((await look()).listOpen(asking({ memoryBytes: 7_000 }))).toEqual(["old"]);
  await say("large", ALL, 60, offering({ pythons: ["3.12", "3.11"], ceilings: LARGE }));
  await say("small", ALL, 60, offering({ ceilings: SMALL }));
  const watch = await look();
  expect(watch.pythons()?.toSorted()).toEqual(["3.11", "3.12"]);
  expect(watch.ceilings()).toEqual({ memoryBytes: 8_000, cpu: 2, scratchBytes: 10 });
  expect(watch.problemOf(asking({}, "3.12"))).toBeUndefined();
  expect(watch.listOpen(asking({}, "3.12"))).toEqual(["large"]);
  expect(watch.listOpen(asking({ memoryBytes: 1_000 }))).toEqual(["large", "old", "small"]);
  // Not more than there is: it gets what a ceiling leaves, as anywhere.
  expect(watch.listOpen(asking({ memoryBytes: 9_000 }))).toEqual(["large", "old"]);
  expect(watch.listOpen(asking({ cpu: 2 }))).toEqual(["old", "small"]);
  await say("large", ALL, 60, { ...offering({ ceilings: LARGE }), draining: true });
  expect((await look()).ceilings()).toEqual(SMALL);
  expect((await look()).listOpen(asking({ memoryBytes: 9_000 }))).toEqual(["old", "small"]);
});

test.each([
  { memoryBytes: 9_000, elsewhere: true },
  { memoryBytes: 1_000, elsewhere: false },
])(
  "an execution that asks for $memoryBytes bytes, on a host that gives 1000, goes to one that gives more: $elsewhere",
  async ({ memoryBytes, elsewhere }) => {
    await queryRows(db, "delete from hosts");
    await say("small", ALL, 60, offering({ ceilings: SMALL }));
    await say("large", ALL, 60, offering({ ceilings: LARGE }));
    const workflow = await aWorkflow(db, { manifest: asking({ memoryBytes }).manifest });
    const { accountId } = workflow;
    const executionId = await anExecution(db, { workflow });
    const lacks = createHostLacks(undefined);
    const deps = { db, hostId: "small", lacks, ceilings: SMALL };
    const passOn = createPassOn({ ...deps, others: { areHigher: () => true } });
    expect(passOn.isWanted()).toBe(true);
    expect(await passOn.offer({ executionId, accountId })).toBe(elsewhere);
    expect(createPassOn({ ...deps, others: { areHigher: () => false } }).isWanted()).toBe(false);
  },
);

test("a host, from its start to its end, says that it is there and what it lacks", async () => {
  await queryRows(db, "delete from hosts");
  let lacking = ALL;
  const deps = { db, hostId: "here", processId: "proc_here", hostGoneSeconds: 0.3, log };
  const presence = startPresence({ ...deps, findWord: async () => aWord(lacking) });
  while ((await listHosts(db)).length === 0) await sleep(10);
  expect(await listHosts(db)).toMatchObject([{ hostId: "here", ...aWord(ALL), present: true }]);
  lacking = { ...ALL, networkProblem: "No tun." };
  while ((await listHosts(db))[0]?.programs?.lacks.networkProblem !== "No tun.") await sleep(10);
  await presence.close();
  expect(await queryRows(db, "select from hosts")).toEqual([]);
});
