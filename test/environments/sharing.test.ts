import { lstatSync, readdirSync, readFileSync, readlinkSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, expect, test } from "@jest/globals";
import { type Db, queryRows } from "../../db/connect.ts";
import { createEnvironmentArchives, type EnvironmentArchives } from "../../environments/archives.ts";
import { openStorage } from "../../storage/open.ts";
import { aDatabase } from "../support/postgres.ts";
import {
  aFolder,
  anIndex,
  lockOf,
  onlyFrom,
  PYTHON,
  runWith,
  someEnvironments,
  type TestEnvironments,
} from "./machine.ts";

const HELLO = {
  name: "hello",
  files: { "hello.py": "def main(): print('hi')\n", "hello/data file.txt": "data" },
  scripts: { greet: "hello:main" },
};

let db: Db;
let drop: () => Promise<void>;
let index: string;
let stored: string;
let archives: EnvironmentArchives;

beforeAll(async () => {
  const database = await aDatabase();
  db = database.db;
  drop = database.drop;
  index = anIndex(HELLO);
});
afterAll(async () => drop());
beforeEach(async () => {
  await queryRows(db, "truncate environment_archives, leases");
  stored = aFolder();
  archives = createEnvironmentArchives({ db, storage: await openStorage({ url: undefined, dir: stored }) });
});

/** A host with a folder of its own, whose Python may be elsewhere than that of others. */
function aHost(pythonPath = PYTHON.path): TestEnvironments {
  return someEnvironments({ env: onlyFrom(index), archives, python: { ...PYTHON, path: pythonPath } });
}

async function keptOf(key: string): Promise<string> {
  for (;;) {
    const [row] = await queryRows<{ object: string }>(
      db,
      "select object from environment_archives where environment_key = :key",
      { key },
    );
    const leases = await queryRows(db, "select from leases");
    if (row !== undefined && leases.length === 0) return row.object;
    await sleep(20);
  }
}

/** Each path of an environment with what it is; but not what names the host's Python. */
const treeOf = (path: string): unknown[] =>
  readdirSync(path, { recursive: true, encoding: "utf8" })
    .filter((name) => !["bin/python3", "pyvenv.cfg"].includes(name))
    .sort()
    .map((name) => {
      const stats = lstatSync(join(path, name));
      const content = stats.isFile() ? readFileSync(join(path, name), "base64") : "";
      return [name, stats.mode, stats.uid, stats.isSymbolicLink() ? readlinkSync(join(path, name)) : content];
    });

const listStored = (): string[] =>
  readdirSync(join(stored, "objects"), { recursive: true, encoding: "utf8" }).filter((name) =>
    name.endsWith(".tar.gz"),
  );

test("ensure, of what another host has built, unpacks it: the same files, and the Python of this host", async () => {
  const first = aHost();
  const { key, lock } = await lockOf(first, "hello");
  const built = await first.ensure(key, lock);
  await keptOf(key);

  const elsewhere = join(aFolder(), "python3");
  symlinkSync(PYTHON.path, elsewhere);
  const second = aHost(elsewhere);
  const said: string[] = [];
  const unpacked = await second.ensure(key, lock, {
    python: { ...PYTHON, path: elsewhere },
    report: (line) => said.push(line),
  });
  expect([first.builds, second.builds]).toEqual([[key], []]);
  expect(said).toContain("Unpacking what another host has built…");
  expect(said).not.toContain("Downloading…");
  expect(treeOf(unpacked)).toEqual(treeOf(built));
  expect([built, unpacked].map((path) => readlinkSync(join(path, "bin/python3")))).toEqual([PYTHON.path, elsewhere]);
  expect(readFileSync(join(unpacked, "pyvenv.cfg"), "utf8")).toContain(`home = ${join(elsewhere, "..")}\n`);
  expect(runWith(built, ["/env/bin/python3", "-c", "import hello; hello.main()"])).toBe("hi\n");
  expect(listStored()).toHaveLength(1);
});

test("ensure, on three hosts at once, builds once; the others wait and say why", async () => {
  const hosts = [aHost(), aHost(), aHost()] as const;
  const { key, lock } = await lockOf(hosts[0], "hello");
  const said = hosts.map(() => [] as string[]);
  await Promise.all(hosts.map((host, at) => host.ensure(key, lock, { report: (line) => said[at]?.push(line) })));
  await keptOf(key);
  expect(hosts.flatMap(({ builds }) => builds)).toEqual([key]);
  expect(said.filter((lines) => lines.includes("Another host is making this environment."))).toHaveLength(2);
  expect(listStored()).toHaveLength(1);
});

test("ensure, while a host is gone that was building it, builds when that host has been silent", async () => {
  const host = aHost();
  const { key, lock } = await lockOf(host, "hello");
  await queryRows(
    db,
    "insert into leases (name, holder, held_until) values (:name, 'gone', now() + interval '1 second')",
    {
      name: `environment ${key}`,
    },
  );
  await host.ensure(key, lock);
  expect(host.builds).toEqual([key]);
  await keptOf(key);
});

test.each([
  ["has other bytes", (path: string) => writeFileSync(path, "something else")],
  ["is gone", undefined],
])("ensure, of an archive that %s, builds by itself and puts a good one there", async (_, damage) => {
  const [first, second, third] = [aHost(), aHost(), aHost()];
  const { key, lock } = await lockOf(first, "hello");
  await first.ensure(key, lock);
  const object = await keptOf(key);
  if (damage === undefined) await (await openStorage({ url: undefined, dir: stored })).delete(object);
  else damage(join(stored, "objects", object));
  await second.ensure(key, lock);
  expect(second.builds).toEqual([key]);
  const again = await keptOf(key);
  expect(again).not.toBe(object);
  expect(listStored()).toEqual([again]);
  await third.ensure(key, lock);
  expect(third.builds).toEqual([]);
});

test("prune, of archives, removes those that no host has used for so long, with their objects", async () => {
  const host = aHost();
  const { key, lock } = await lockOf(host, "hello");
  await host.ensure(key, lock);
  await keptOf(key);
  expect(await archives.prune(30)).toBe(0);
  await queryRows(db, "update environment_archives set used_at = now() - interval '31 days'");
  await aHost().ensure(key, lock); // is a use
  expect(await archives.prune(30)).toBe(0);
  await queryRows(db, "update environment_archives set used_at = now() - interval '31 days'");
  expect(await archives.prune(30)).toBe(1);
  expect(listStored()).toEqual([]);
  expect(await queryRows(db, "select from environment_archives")).toEqual([]);
});
