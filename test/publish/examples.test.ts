import { execFile } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, expect, test } from "@jest/globals";
import type { AccountId } from "../../domain/ids.ts";
import { readLocalFolder } from "../../src/publish/local-folder.ts";
import { findNextRuns } from "../../src/publish/next-runs.ts";
import { createPythonWarnings } from "../../src/publish/python-warnings.ts";
import { validateCommit } from "../../src/publish/validation.ts";
import { createOrders, sumPaidCents, toCsv } from "../support/orders.ts";
import { A_PYTHON, onlyInterpreter } from "../support/python.ts";
import { TEST_THREADS } from "../support/threads.ts";

const EXAMPLES = fileURLToPath(new URL("../../examples/", import.meta.url));
const ABILITIES = {
  interpreters: onlyInterpreter(A_PYTHON),
  networkAvailable: () => false,
  threads: TEST_THREADS,
  findPythonWarnings: createPythonWarnings(TEST_THREADS),
};

const dirs: string[] = [];
afterAll(() => {
  for (const dir of dirs) rmSync(dir, { recursive: true, force: true });
});

/** Calls an example's main as its README says, without Treadle, in a copy of its folder. */
async function callMain(
  example: string,
  call: string,
  files: Readonly<Record<string, string>> = {},
): Promise<{ stdout: string; read: (file: string) => string }> {
  const dir = mkdtempSync(join(tmpdir(), "example-"));
  dirs.push(dir);
  cpSync(join(EXAMPLES, example), dir, { recursive: true });
  for (const [name, content] of Object.entries(files)) writeFileSync(join(dir, name), content);
  const { stdout } = await promisify(execFile)(
    "python3",
    ["-B", "-c", `import json, main; print(json.dumps(main.main(${call}), default=str))`],
    { cwd: dir },
  );
  return { stdout, read: (file) => readFileSync(join(dir, file), "utf8") };
}

const OWNER = { accountId: "acct_test" as AccountId, workflowId: null };
const resultOf = (stdout: string): Record<string, unknown> =>
  JSON.parse(stdout.trim().split("\n").at(-1) as string) as Record<string, unknown>;

test.each(["hello", "sales-report", "merge-files", "nightly"])(
  "the example %s, as it stands, can be published and called by API",
  async (example) => {
    const folder = await readLocalFolder(join(EXAMPLES, example));
    if (!folder.ok) throw new Error(JSON.stringify(folder.problems));
    const validation = await validateCommit(folder.files, ABILITIES, OWNER);
    expect(validation).toMatchObject({
      ok: true,
      warnings: [],
      manifest: { name: expect.any(String), triggers: { api: { enabled: true } } },
    });
  },
);

test("the example warehouse, as it stands, gives each of its schedules the day of the tick, over a change of the clock", async () => {
  const folder = await readLocalFolder(join(EXAMPLES, "warehouse"));
  if (!folder.ok) throw new Error(JSON.stringify(folder.problems));
  const validation = await validateCommit(folder.files, { ...ABILITIES, networkAvailable: () => true }, OWNER);
  if (!validation.ok) throw new Error(JSON.stringify(validation.problems));
  expect(validation.warnings).toEqual([]);
  const from = new Date("2026-03-28T12:00:00Z");
  const schedules = validation.manifest.triggers.schedules ?? [];
  expect(schedules.map(({ name, ...schedule }) => [name, findNextRuns(schedule, from, 1)[0]])).toMatchObject([
    ["nightly", { local: "2026-03-29T03:00:00+02:00", note: expect.stringContaining("day = 2026-03-29") }],
    ["noon", { local: "2026-03-30T12:05:00+02:00", note: "day = 2026-03-30" }],
  ]);
});

test("the example nightly, by its schedule, runs at 6:30 in Berlin on weekdays", async () => {
  const folder = await readLocalFolder(join(EXAMPLES, "nightly"));
  const validation = folder.ok ? await validateCommit(folder.files, ABILITIES, OWNER) : undefined;
  if (validation?.ok !== true) throw new Error("The example is not valid.");
  const runs = findNextRuns(validation.manifest.triggers.schedule, new Date("2026-10-23T12:00:00Z"), 2);
  expect(runs).toEqual([
    { utc: "2026-10-26T05:30:00Z", local: "2026-10-26T06:30:00+01:00", note: "start = 2026-10-26" },
    { utc: "2026-10-27T05:30:00Z", local: "2026-10-27T06:30:00+01:00", note: "start = 2026-10-27" },
  ]);
});

test("hello, called with all inputs, greets that often", async () => {
  const { stdout } = await callMain("hello", "name='Ada', times=2, loud=True");
  expect(resultOf(stdout)).toEqual({ greeting: { message: "HELLO, ADA!", lines: ["HELLO, ADA!", "HELLO, ADA!"] } });
});

test("merge-files, on tables with other columns and separators, joins them by name and says where rows come from", async () => {
  const { stdout, read } = await callMain("merge-files", "files=['b.csv', 'a.csv', 'c.tsv']", {
    "a.csv": 'name,price\r\n"Mug, large",1\r\n',
    "b.csv": "\ufeffname;stock\nPen;3\nÜnit;4\n",
    "c.tsv": "stock\tname\n7\tDesk\n",
  });
  expect(read("outputs/merged.csv").split(/\r?\n/)).toEqual([
    "source,name,stock,price",
    "b.csv,Pen,3,",
    "b.csv,Ünit,4,",
    'a.csv,"Mug, large",,1',
    "c.tsv,Desk,7,",
    "",
  ]);
  expect(resultOf(stdout)["contents"]).toEqual([
    { file: "b.csv", rows: 2 },
    { file: "a.csv", rows: 1 },
    { file: "c.tsv", rows: 1 },
  ]);
});

test("merge-files, on text, puts one after the other with the separator between", async () => {
  const { read } = await callMain("merge-files", "files=['a.txt', 'b.md'], separator='---'", {
    "a.txt": "no newline at the end",
    "b.md": "# B\n",
  });
  expect(read("outputs/merged.txt")).toBe("no newline at the end\n---\n# B\n");
});

test("merge-files, on a row longer than its header, fails naming file and line", async () => {
  await expect(callMain("merge-files", "files=['a.csv']", { "a.csv": "x,y\n1,2\n1,2,3\n" })).rejects.toThrow(
    "a.csv, line 3",
  );
});

test("nightly, over a year's end with holidays and absences, counts the hours that are left", async () => {
  const team =
    "[{'name': 'Ada', 'hours_per_week': 40, 'away': [{'from': '2026-12-30', 'until': '2026-12-31'}]}, {'name': 'Grace', 'hours_per_week': 32}]";
  const { stdout, read } = await callMain(
    "nightly",
    `team=${team}, holidays=['2026-12-25', '2027-01-01'], weeks=2, start=__import__('datetime').date(2026, 12, 23)`,
  );
  expect(read("outputs/capacity.csv").split(/\r?\n/)).toEqual([
    "week,person,hours",
    "2026-W52,Ada,16",
    "2026-W52,Grace,12.8",
    "2026-W53,Ada,16",
    "2026-W53,Grace,25.6",
    "",
  ]);
  expect(resultOf(stdout)["summary"]).toEqual({ from: "2026-12-23", hours: { "2026-W52": 28.8, "2026-W53": 41.6 } });
});

test("createOrders, for one seed, gives the same export, with repeats, quotes and every status", () => {
  const orders = createOrders({ count: 20_000, seed: 7 });
  expect(toCsv(orders)).toBe(toCsv(createOrders({ count: 20_000, seed: 7 })));
  expect(toCsv(orders)).not.toBe(toCsv(createOrders({ count: 20_000, seed: 8 })));
  expect(orders).toHaveLength(20_000);
  expect(new Set(orders.map((order) => order.orderId)).size).toBeLessThan(20_000);
  expect(new Set(orders.map((order) => order.status))).toEqual(new Set(["paid", "refunded", "cancelled"]));
  const parts = [...sumPaidCents(orders, (order) => order.region).values()];
  expect(parts.reduce((sum, part) => sum + part, 0)).toBe(sumPaidCents(orders, () => "all").get("all"));
});
