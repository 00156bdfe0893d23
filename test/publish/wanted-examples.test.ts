import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { CommitId } from "../../domain/ids.ts";
import type { Publish } from "../../src/publish/publish.ts";
import { publishExamples } from "../../src/start/examples.ts";
import { aCommit, anAccount, aWorkflow, TEST_SECRET_BOX } from "../support/builders.ts";
import { aDatabase, type TestDatabase } from "../support/postgres.ts";

const EXAMPLES = fileURLToPath(new URL("../../examples/", import.meta.url));
let database: TestDatabase;
let dataDir: string;

beforeAll(async () => {
  database = await aDatabase();
  dataDir = await mkdtemp(join(tmpdir(), "treadle-wanted-"));
});

afterAll(async () => {
  await database?.drop();
  await rm(dataDir, { recursive: true, force: true });
});

/** What is published when this is wanted, and the lines for people. */
async function publish(wanted: string) {
  const published: (string | undefined)[] = [];
  const { notes } = await publishExamples({
    db: database.db,
    secretBox: TEST_SECRET_BOX,
    dataDir,
    folder: EXAMPLES,
    wanted,
    accountId: await anAccount(database.db),
    publish: async ({ name }) => {
      published.push(name);
      return { kind: "head_moved", head: null };
    },
    report: () => undefined,
  });
  return { published, others: notes.filter((note) => !note.includes("was not published")) };
}

test.each([
  ["all", ["hello", "merge-files", "nightly", "sales-report"]],
  ["none", []],
  ["hello, warehouse", ["hello", "warehouse"]],
  ["nightly, hello", ["hello", "nightly"]],
])("examples, of which %s are wanted, are published accordingly", async (wanted, published) => {
  expect(await publish(wanted)).toEqual({ published, others: [] });
});

test("examples, wanted by a name that none has, are named, and the others are published", async () => {
  expect(await publish("hello,helo")).toEqual({
    published: ["hello"],
    others: ["TREADLE_EXAMPLES names helo, which is none of hello, merge-files, nightly, sales-report, warehouse."],
  });
});

test("an example that somebody has committed to, is left alone at the next start; one that nobody touched is brought up to date", async () => {
  const { db } = database;
  const { workflowId, commitId, manifest } = await aWorkflow(db);
  await writeFile(join(dataDir, "examples.json"), JSON.stringify({ hello: workflowId }));
  const commit = (parentId: CommitId, message: string) => aCommit(db, { workflowId, parentId, manifest, message });
  const ours = await commit(commitId, "Example hello\n");
  expect((await publish("hello")).published).toEqual(["hello"]);
  await commit(ours, "Greet louder");
  expect((await publish("hello")).published).toEqual([]);
});

test("examples that are as the last start left them are not published again; changed, or with one deleted, they are", async () => {
  const { db } = database;
  const folder = await mkdtemp(join(tmpdir(), "treadle-examples-"));
  await cp(join(EXAMPLES, "hello"), join(folder, "hello"), { recursive: true });
  const accountId = await anAccount(db);
  const dataDir = await mkdtemp(join(tmpdir(), "treadle-wanted-"));
  let published = 0;
  const start = async () => {
    const before = published;
    const { workflows, notes } = await publishExamples({
      db,
      secretBox: TEST_SECRET_BOX,
      dataDir,
      folder,
      wanted: "all",
      accountId,
      publish: async ({ workflowId }) => {
        published += 1;
        const made = workflowId === null ? await aWorkflow(db, { accountId, commit: false }) : undefined;
        return { kind: "published", workflowId: made?.workflowId ?? workflowId } as Awaited<ReturnType<Publish>>;
      },
      report: () => undefined,
    });
    return { published: published - before, workflows, notes };
  };
  try {
    const first = await start();
    expect(first).toMatchObject({ published: 1, notes: [] });
    expect(await start()).toEqual({ ...first, published: 0 });

    await writeFile(join(folder, "hello/more.txt"), "");
    expect((await start()).published).toBe(1);
    expect((await start()).published).toBe(0);

    const { hello } = JSON.parse(await readFile(join(dataDir, "examples.json"), "utf8"));
    await db.raw("update workflows set deleted_at = now() where id = ?", [hello]);
    expect((await start()).published).toBe(1);
  } finally {
    await Promise.all([folder, dataDir].map((path) => rm(path, { recursive: true })));
  }
});
