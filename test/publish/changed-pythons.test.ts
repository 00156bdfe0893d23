import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { findCommit, listHeads } from "../../db/commits/commits.ts";
import { queryRows } from "../../db/connect.ts";
import type { CommitId } from "../../domain/ids.ts";
import type { Python } from "../../environments/lock.ts";
import { startPreparingCommits } from "../../src/publish/commit-preparation.ts";
import { addPackages, aFolder } from "../environments/machine.ts";
import { SILENT } from "../http/editor/parts.ts";
import { aHost, minorOf } from "./machines.ts";

let host: Awaited<ReturnType<typeof aHost>>;
beforeAll(async () => {
  host = await aHost();
});
afterAll(() => host.close());

async function publishGood(files: Record<string, string>) {
  const publication = await host.publish(files);
  if (publication.kind !== "published") throw new Error(JSON.stringify(publication));
  return publication;
}

const VERSION = "import hello, sys\ndef main():\n    return list(sys.version_info[:2])\n";
const asList = (version: string) => version.split(".").slice(0, 2).map(Number);
/** What the machine is said to have may be 3.99; what it is says itself. */
const isReal = (python: Python) => !python.version.startsWith("3.99");

async function madeFor(commitId: CommitId) {
  return queryRows<{ key: string; interpreter: string; lock: string }>(
    host.db,
    `select e.key, e.interpreter, e.lock from commit_environments ce join environments e on e.key = ce.environment_key
      where ce.commit_id = :commitId`,
    { commitId },
  );
}

test("a commit, where another Python has become the standard one and its own is still there, runs on its own", async () => {
  for (const requirements of ["hello\n", ""]) {
    const main = requirements === "" ? VERSION.replace("hello, ", "") : VERSION;
    const { workflowId, commitId } = await publishGood({ "main.py": main, "requirements.txt": requirements });
    const upgraded = await host.another({ standard: host.second, others: [host.standard] });
    const before = await host.run(workflowId, commitId);
    expect(await upgraded.run(workflowId, commitId)).toEqual(before);
    if (isReal(host.standard)) expect(before).toEqual(asList(host.standard.version));
    expect(await madeFor(commitId)).toEqual([]);
  }
});

test("a commit, where its Python is gone, has its packages locked again for the standard one, once, and runs", async () => {
  const { workflowId, commitId } = await publishGood({ "main.py": VERSION, "requirements.txt": "hello\n" });
  const upgraded = await host.another({ standard: host.second, others: [] });
  const runs = await Promise.all([upgraded.run(workflowId, commitId), upgraded.run(workflowId, commitId)]);
  expect(runs).toEqual([asList(host.second.version), asList(host.second.version)]);
  const [made, ...more] = await madeFor(commitId);
  expect([made?.interpreter, more]).toEqual([host.second.version, []]);
  expect(upgraded.environments.builds).toEqual([made?.key]);
  expect(await upgraded.warm(workflowId, commitId)).toEqual({ warm: true });
  // Where it was published it goes on as it was.
  expect(await host.run(workflowId, commitId)).not.toBeUndefined();
  expect(await host.publish({ "main.py": VERSION, "requirements.txt": "hello\n" }, { workflowId })).toMatchObject({
    kind: "published",
    changed: false,
    commitId,
  });
  const keys = (await listHeads(host.db)).find((head) => head.commitId === commitId)?.environmentKeys;
  expect(keys).toEqual([expect.any(String), made?.key]);
});

test("a commit, where the C library is another one, is built from its own lock", async () => {
  const { workflowId, commitId } = await publishGood({ "main.py": VERSION, "requirements.txt": "hello\n" });
  const upgraded = await host.another({ standard: { ...host.standard, platform: "linux-x86_64-glibc9.99" } });
  expect(await upgraded.run(workflowId, commitId)).toEqual(await host.run(workflowId, commitId));
  const own = await findCommit(host.db, workflowId, commitId);
  const [made] = await madeFor(commitId);
  expect(made?.key).not.toBe(own?.environmentKey);
  const [row] = await queryRows(host.db, "select lock from environments where key = :key", {
    key: own?.environmentKey,
  });
  expect(row).toEqual({ lock: made?.lock });
});

test("the start of an upgraded machine makes what heads need, and says which cannot run; publishing the same files tries again", async () => {
  const index = aFolder();
  const files = { "main.py": VERSION, "requirements.txt": "hello\n", "data.txt": "of its own" };
  const { workflowId, commitId } = await publishGood(files);
  const bound = { "pyproject.toml": `[project]\nrequires-python = "==${minorOf(host.standard.version)}.*"\n` };
  const pinned = await publishGood({ ...files, ...bound });
  await queryRows(host.db, "update workflows set deleted_at = now() where id <> all(cast(:ids as text[]))", {
    ids: [workflowId, pinned.workflowId],
  });
  const upgraded = await host.another({ standard: host.second, others: [], index });
  const preparation = startPreparingCommits({ ...upgraded, db: host.db, log: SILENT });
  const { commitEnvironments } = upgraded;
  while (commitEnvironments.problems().filter(({ isBeingMade }) => !isBeingMade).length < 2) await sleep(50);
  preparation.close();
  const reason = expect.stringMatching(/cannot be had for Python .*hello.*Install the Python/s);
  const wanted = expect.stringContaining(`The code wants Python ==${minorOf(host.standard.version)}.*`);
  expect(commitEnvironments.problemOf(workflowId, commitId)).toMatchObject({ reason, isBeingMade: false });
  expect(commitEnvironments.problemOf(pinned.workflowId, pinned.commitId)).toMatchObject({ reason: wanted });
  await expect(upgraded.run(workflowId, commitId)).rejects.toThrow("cannot be had for Python");

  const again = await upgraded.publish(files, { workflowId });
  expect(again).toMatchObject({ kind: "invalid", problems: [{ file: "requirements.txt", message: reason }] });
  addPackages(index, "wheel", [{ name: "hello", files: { "hello.py": "WHERE = 1" } }]);
  const good = await upgraded.publish(files, { workflowId });
  expect(good).toMatchObject({ kind: "published", changed: false, commitId });
  expect((good as { buildLog: string }).buildLog).toContain("The environment is ready.");
  expect(await upgraded.run(workflowId, commitId)).toEqual(asList(host.second.version));
  expect(commitEnvironments.problems().map((problem) => problem.commitId)).toEqual([pinned.commitId]);
});

test("a commit, that asks for a Python that went, says so; one of a version before Pythons were noted runs as its environment was made", async () => {
  const minor = minorOf(host.second.version);
  const asking = await publishGood({ "config.yaml": `python: "${minor}"\n`, "main.py": "" });
  const { workflowId, commitId } = await publishGood({ "main.py": VERSION, "requirements.txt": "hello\n" });
  await queryRows(host.db, "update commits set python = null");
  const upgraded = await host.another({ others: [] });
  await expect(upgraded.run(asking.workflowId, asking.commitId)).rejects.toThrow(
    `It asks for Python ${minor}, and this host has ${minorOf(host.standard.version)}. Install Python ${minor} there`,
  );
  const swapped = await host.another({ standard: host.second, others: [host.standard] });
  expect(await swapped.run(workflowId, commitId)).toEqual(await host.run(workflowId, commitId));
});
