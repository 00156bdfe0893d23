import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { CommitId } from "../../domain/ids.ts";
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
