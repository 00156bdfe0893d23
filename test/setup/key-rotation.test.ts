import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { type Db, queryRows } from "../../db/connect.ts";
import { notePresence } from "../../db/executions/hosts.ts";
import { listSealed, SEALED_COLUMNS } from "../../db/secrets/sealed-rows.ts";
import { microCredits } from "../../domain/credits.ts";
import { openAccountBox } from "../../src/keys/data-keys.ts";
import { openKeyRing } from "../../src/keys/key-ring.ts";
import { requireMasterKey } from "../../src/keys/master-key.ts";
import { rotateMasterKey } from "../../src/keys/rotation.ts";
import { createSecretBox } from "../../src/keys/secret-box.ts";
import { prepareInstallation } from "../../src/start/installation.ts";
import { SILENT } from "../http/editor/parts.ts";
import { anExecution, aWorkflow } from "../support/builders.ts";
import { aDatabase, type TestDatabase } from "../support/postgres.ts";

/** What the builders of the tests seal with. */
const OLD_KEY = Buffer.alloc(32, 7);

let database: TestDatabase;
let db: Db;
let folder: string;
let file: string;

beforeAll(async () => {
  database = await aDatabase();
  db = database.db;
  folder = await mkdtemp(join(tmpdir(), "key-rotation-"));
  file = join(folder, "master");
  await writeFile(file, OLD_KEY, { mode: 0o600 });
  const { box, close } = await openKeyRing(file, SILENT);
  await close();
  await requireMasterKey(db, { secretBox: box, file });
  await prepareInstallation({ db, secretBox: box, keysDir: folder, initialCredits: microCredits(1n) });
  for (let count = 0; count < 3; count += 1) {
    const workflow = await aWorkflow(db);
    await openAccountBox(db, box, workflow.accountId);
    const id = await anExecution(db, { workflow });
    const sealed = box.seal("of a caller", id);
    await queryRows(db, "update executions set secret_inputs = :sealed where id = :id", { id, sealed });
  }
});

afterAll(async () => {
  await database?.drop();
  await rm(folder, { recursive: true, force: true });
});

/** How many rows of each column a key opens, and how many there are. */
async function countOpened(key: Buffer): Promise<Record<string, string>> {
  const box = createSecretBox(key);
  const counts: Record<string, string> = {};
  for (const column of SEALED_COLUMNS) {
    const rows = await listSealed(db, column, { after: null, limit: 100 });
    const opened = rows.filter(({ sealed, context }) => {
      try {
        return box.open(sealed, context).length > 0;
      } catch {
        return false;
      }
    });
    counts[`${column.table}.${column.column}`] = `${opened.length} of ${rows.length}`;
  }
  return counts;
}

test("sealed columns, of the rotation, are all columns of bytes that could be sealed", async () => {
  const columns = await queryRows<{ name: string }>(
    db,
    `select table_name || '.' || column_name as name from information_schema.columns
      where table_schema = current_schema() and data_type = 'bytea' order by 1`,
  );
  // Hashes, contents of files, and what data keys seal.
  const others =
    /hash|fingerprint|content|^live_requests|^git_objects|^stored_values\.sealed$|^notice_places|^call_receivers|^environments|^builds|salt|^draft|^rate/;
  expect(columns.map(({ name }) => name).filter((name) => !others.test(name))).toEqual(
    SEALED_COLUMNS.map(({ table, column }) => `${table}.${column}`).toSorted(),
  );
});

test("rotation, while a host does not have the new key, stops and says which, and both keys open; then it goes on to the end", async () => {
  const say = (keyIds: readonly string[]) => {
    const word = { role: "api", version: "1", draining: false, keyIds, programs: null } as const;
    return notePresence(db, { hostId: "host_of_old", processId: "p", seconds: 60, word });
  };
  const ring = await openKeyRing(file, SILENT);
  await say(ring.ids());
  const rotate = () => rotateMasterKey({ db, file, report: () => undefined, hostsTimeoutMs: 100 });
  await expect(rotate()).rejects.toThrow(`do not have the new key: host_of_old. Copy ${file}.next`);
  expect((await readdir(folder)).filter((name) => name.startsWith("master"))).toEqual(["master", "master.next"]);
  expect(await readFile(file)).toEqual(OLD_KEY);

  await ring.reload();
  const [first, second] = ring.ids();
  await say(ring.ids());
  await expect(rotate()).rejects.toThrow(`Copy ${file} and ${file}.previous`);
  await ring.reload();
  expect(ring.ids()).toEqual([second, first]);
  await say(ring.ids());
  const all = { "api_keys.encrypted": "3 of 3", "data_keys.sealed": "3 of 3", "executions.secret_inputs": "3 of 3" };
  expect(await countOpened(OLD_KEY)).toMatchObject({ ...all, "installation.canary": "1 of 1" });

  expect(await rotate()).toMatchObject({ resealed: { api_keys: 3, data_keys: 3, executions: 3 } });
  expect(await countOpened(await readFile(file))).toMatchObject({ ...all, "installation.canary": "1 of 1" });
  expect(Object.values(await countOpened(OLD_KEY)).every((count) => count.startsWith("0 of"))).toBe(true);
  await ring.reload();
  expect(ring.ids()).toEqual([second]);
  await ring.close();
}, 60_000);
