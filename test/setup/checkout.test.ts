import { existsSync, mkdirSync, readdirSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { aCheckout, aLock, finish } from "./fake-checkout.ts";
import { IS_ROOT, RUN_AS } from "./servers/surroundings.ts";

const INSTALL = "npm ci --include=dev --include=optional --no-audit --no-fund --no-progress";
const drafts = (path: string) => readdirSync(path).filter((name) => name.startsWith(".build-"));

test("prepareCheckout, on a fresh clone, installs, builds, copies what is no TypeScript, and tells how long it usually takes", async () => {
  const checkout = aCheckout();
  const { code, stdout } = await checkout.prepare();
  expect(code).toBe(0);
  expect(checkout.calls()).toEqual([INSTALL, "tsc"]);
  expect(stdout).toMatch(
    /Installing packages with npm ci \(usually 20 to 60 s\) …\n.*done in \d+ s\.\nBuilding \(usually/,
  );
  expect(checkout.read("dist/src/start.js")).toContain("started = 1");
  expect(checkout.read("dist/db/migrations/0001.sql")).toBe("select 1;\n");
  expect(drafts(checkout.path)).toEqual([]);
});

test("prepareCheckout, when nothing changed, says and does nothing; touched files count as unchanged", async () => {
  const checkout = aCheckout();
  await checkout.prepare();
  utimesSync(join(checkout.path, "src/start.ts"), 1, 1);
  expect(await checkout.prepare()).toEqual({ code: 0, stdout: "", stderr: "" });
  expect(checkout.calls()).toHaveLength(2);
});

test("prepareCheckout, when a source or the compiler's settings changed or a source was deleted, builds again and installs nothing", async () => {
  const checkout = aCheckout();
  await checkout.prepare();
  checkout.write("src/more.ts", "export {};\n");
  await checkout.prepare();
  checkout.write("tsconfig.json", "{}");
  await checkout.prepare();
  await checkout.run(`import { rmSync } from "node:fs"; rmSync("src/more.ts")`);
  await checkout.prepare();
  expect(checkout.calls()).toEqual([INSTALL, "tsc", "tsc", "tsc", "tsc"]);
  expect(existsSync(join(checkout.path, "dist/src/more.js"))).toBe(false);
});

test("prepareCheckout, when a source has another text of the same length and time, builds again", async () => {
  const checkout = aCheckout();
  await checkout.prepare();
  const path = join(checkout.path, "src/start.ts");
  const { atime, mtime } = statSync(path);
  checkout.write("src/start.ts", checkout.read("src/start.ts").replace("1", "2"));
  utimesSync(path, atime, mtime);
  await checkout.prepare();
  expect(checkout.read("dist/src/start.js")).toContain("started = 2");
});

test("prepareCheckout, when the lock file changed, installs again; when only a script in package.json did, not", async () => {
  const checkout = aCheckout();
  await checkout.prepare();
  checkout.write("package.json", { ...JSON.parse(checkout.read("package.json")), scripts: { hello: "echo" } });
  await checkout.prepare();
  expect(checkout.calls().filter((call) => call === INSTALL)).toHaveLength(1);
  checkout.write("package-lock.json", aLock("8.0.1"));
  await checkout.prepare();
  expect(checkout.calls().filter((call) => call === INSTALL)).toHaveLength(2);
});

test("prepareCheckout, when somebody installed the packages with npm, does not install them again; when one is missing or another version, does", async () => {
  const checkout = aCheckout();
  const installed = (packages: object) => checkout.write("node_modules/.package-lock.json", { packages });
  checkout.write("node_modules/typescript/bin/tsc", checkout.read("compiler.js"));
  installed({ "node_modules/pg": { version: "8.0.0" }, "node_modules/typescript": { version: "7.0.2" } });
  await checkout.prepare();
  expect(checkout.calls()).toEqual(["tsc"]);

  const other = aCheckout();
  other.write("node_modules/.package-lock.json", {
    packages: { "node_modules/pg": { version: "7.9.9" }, "node_modules/typescript": { version: "7.0.2" } },
  });
  await other.prepare();
  expect(other.calls()[0]).toBe(INSTALL);
});

test("prepareCheckout, with the packages to run alone and a finished build, is content; for tests it installs the others", async () => {
  const checkout = aCheckout();
  await checkout.prepare();
  await checkout.run(`import { rmSync } from "node:fs"; rmSync("node_modules", { recursive: true })`);
  checkout.write("node_modules/.package-lock.json", { packages: { "node_modules/pg": { version: "8.0.0" } } });
  await checkout.prepare();
  expect(checkout.calls()).toHaveLength(2);
  await checkout.prepare({ development: true });
  expect(checkout.calls()).toEqual([INSTALL, "tsc", INSTALL]);
});

test("prepareCheckout, without the registry, shows npm's own words and what to do, and the next attempt installs", async () => {
  const checkout = aCheckout();
  checkout.write("offline", "");
  const { code, stderr } = await checkout.prepare();
  expect(code).toBe(1);
  expect(stderr).toContain("npm error code ENOTFOUND");
  expect(stderr).toContain("npm did not reach its registry. Connect this machine, or tell npm its proxy or mirror");
  await checkout.run(`import { rmSync } from "node:fs"; rmSync("offline")`);
  expect((await checkout.prepare()).code).toBe(0);
});

test("prepareCheckout, when the sources do not compile, shows why, and the build before stays as it was", async () => {
  const checkout = aCheckout();
  await checkout.prepare();
  checkout.write("src/start.ts", "WRONG");
  const { code, stderr } = await checkout.prepare();
  expect(code).toBe(1);
  expect(stderr).toContain("src/start.ts(1,1): error TS1: wrong");
  expect(checkout.read("dist/src/start.js")).toContain("started = 1");
  expect(drafts(checkout.path)).toEqual([]);
});

test("prepareCheckout, after a build that was killed half-way, never takes it for a build and clears it away", async () => {
  const checkout = aCheckout();
  mkdirSync(join(checkout.path, ".build-dead/src"), { recursive: true });
  mkdirSync(join(checkout.path, "dist/src"), { recursive: true });
  await checkout.prepare();
  expect(checkout.calls()).toEqual([INSTALL, "tsc"]);
  expect(drafts(checkout.path)).toEqual([]);
});

test("prepareCheckout, started twice at once, lets one work and the other wait for it", async () => {
  const checkout = aCheckout();
  const both = await Promise.all([checkout.prepare(), checkout.prepare()]);
  expect(both.map((one) => one.code)).toEqual([0, 0]);
  expect(checkout.calls()).toEqual([INSTALL, "tsc"]);
  expect(both.map((one) => one.stdout).join()).toMatch(
    /Another start \(process \d+\) is setting up this checkout; waiting/,
  );
  expect(readdirSync(join(checkout.path, ".setup"))).toEqual([".gitignore"]);
});

test("prepareCheckout, when the one that held the lock was killed, goes on at once", async () => {
  const checkout = aCheckout();
  const code = `
    const { withCheckoutLock } = await import(${JSON.stringify(join(checkout.path, "bin/checkout-lock.mjs"))});
    await withCheckoutLock({ checkout: ${JSON.stringify(checkout.path)}, report() {} }, async () => process.kill(process.pid, "SIGKILL"));
    await new Promise((resolve) => setTimeout(resolve, 5000));
  `;
  await checkout.run(code);
  expect(existsSync(join(checkout.path, ".setup/lock"))).toBe(true);
  const { code: exit, stdout } = await checkout.prepare();
  expect(exit).toBe(0);
  expect(stdout).not.toContain("waiting");
});

test("withCheckoutLock, when its holder's pid has come back for another process, does not wait for that one", async () => {
  const checkout = aCheckout();
  checkout.write(".setup/lock", `${process.pid} 12345`);
  const { code, stdout } = await checkout.prepare();
  expect(code).toBe(0);
  expect(stdout).not.toContain("waiting");
});

test("prepareCheckout, in a checkout that this user cannot write, uses the build that is there, and without one says who must start first", async () => {
  if (!IS_ROOT) return expect(RUN_AS).toBeUndefined();
  const checkout = aCheckout();
  const uid = RUN_AS?.uid as number;
  const refused = await checkout.prepare({ uid });
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining("cannot be written by this user") });
  await checkout.prepare();
  expect(await checkout.prepare({ uid })).toEqual({ code: 0, stdout: "", stderr: "" });
  checkout.write("src/start.ts", "export const started = 2;\n");
  expect(await checkout.prepare({ uid })).toMatchObject({
    code: 0,
    stdout: expect.stringContaining("using the build that is there"),
  });
});

test("treadle, typed anywhere in the checkout, hands words, exit code and the checkout's data folder to the command line", async () => {
  const checkout = aCheckout();
  checkout.write("src/start.ts", "");
  await checkout.prepare();
  checkout.write("dist/package.json", '{"type":"module"}');
  const io = "(env) => ({ env, stdout: process.stdout })";
  checkout.write("dist/command/process-io.js", `export const createProcessIo = ${io};`);
  const answer = "{ argv, data: io.env.TREADLE_DATA_DIR, parts: Object.keys(parts) }";
  const run = `(argv, io, parts) => (io.stdout.write(JSON.stringify(${answer})), argv[0] === "bogus" ? 2 : 0)`;
  checkout.write("dist/command/main.js", `export const runCli = async ${run};`);
  const folder = join(checkout.path, "src");
  const options = { cwd: folder, env: { TREADLE_DATA_DIR: "" } };
  const done = await finish([join(checkout.path, "bin/treadle"), "workflows", "list", "--json"], options);
  expect(done.stderr).toBe("");
  expect(JSON.parse(done.stdout)).toEqual({
    argv: ["workflows", "list", "--json"],
    data: join(checkout.path, ".treadle"),
    parts: ["start", "checkMachine", "measureSpeed", "backup", "restore", "rotateMaster", "migrate"],
  });
  expect((await finish([join(checkout.path, "bin/treadle"), "bogus"], options)).code).toBe(2);
});

test("node-version, of a Node.js before 20.19, says what is needed; of one before 22.12 warns; is content from there on", () => {
  const { explainOldNode, warnOfOldNode } = createRequire(import.meta.url)("../../bin/node-version.cjs") as Record<
    "explainOldNode" | "warnOfOldNode",
    (version: string) => string | undefined
  >;
  for (const old of ["18.20.4", "20.18.3", "16.0.0"])
    expect(explainOldNode(old)).toContain(`Treadle needs Node.js 22.12 or later, and this is ${old}`);
  for (const good of ["20.19.0", "20.20.2", "22.0.0", "100.1.0"]) expect(explainOldNode(good)).toBeUndefined();
  for (const old of ["20.20.2", "22.11.9"])
    expect(warnOfOldNode(old)).toContain(`Node.js ${old} gets no more security fixes`);
  for (const good of ["22.12.0", "24.0.0", "100.1.0"]) expect(warnOfOldNode(good)).toBeUndefined();
});

/** How often a test of a tier's one file had each status; whether the file failed beside its tests; files that jest says nothing of. */
interface Told {
  readonly statuses?: readonly string[];
  readonly fails?: boolean;
  /** What its tests answer when that file is run again. */
  readonly again?: readonly string[];
  readonly silentAbout?: readonly string[];
}

const passing = (count: number): Told => ({ statuses: Array.from({ length: count }, () => "passed") });

/** A checkout whose jest answers so of each tier; with `end`, it ends with that code, and where `none`, without results. */
async function aTestedCheckout(tiers: Record<string, Told>, { end = 0, none = false } = {}) {
  const checkout = aCheckout();
  checkout.write("src/start.ts", "");
  await checkout.prepare({ development: true });
  checkout.write("test/support/typescript-threads.mjs", "");
  checkout.write(
    "jest.config.js",
    `export const TIERS = ${JSON.stringify(Object.keys(tiers))}; export const EARLY_TIERS = ["early"]; export const PATIENT_TIERS = ["patient"]; export const QUIET_TIERS = ["quiet"];`,
  );
  writeFileSync(join(checkout.path, "dist/package.json"), '{"type":"module"}');
  mkdirSync(join(checkout.path, "dist/src/setup"));
  writeFileSync(
    join(checkout.path, "dist/src/setup/test-machine.js"),
    `import { appendFileSync, readFileSync } from "node:fs";
     import { setTimeout as sleep } from "node:timers/promises";
     const build = async () => {
       // A busy machine takes seconds to begin the early tiers.
       for (let ms = 0; ms < 1_000 || (${"early" in tiers} && !readFileSync("calls", "utf8").includes("early")); ms += 100) await sleep(100);
       appendFileSync("calls", "built\\n");
     };
     export const prepareTestMachine = async () => ({ problems: ["no browser here"], temporal: build().then(() => "no Temporal here") });`,
  );
  for (const [tier, { silentAbout = [] }] of Object.entries(tiers))
    for (const name of silentAbout) checkout.write(`test/${tier}/${name}`, "");
  checkout.write("node_modules/jest/package.json", {});
  checkout.write(
    "node_modules/jest/bin/jest.js",
    `const words = process.argv.slice(2);
     const fs = require("node:fs");
     fs.appendFileSync("calls", "jest " + words.filter((word) => !word.includes("/")).join(" ") + "\\n");
     if (${none}) process.exit(1);
     const chosen = words.slice(words.indexOf("--selectProjects") + 1, words.indexOf("--json"));
     const isAgain = words.includes("--runTestsByPath");
     const testResults = Object.entries(${JSON.stringify(tiers)})
       .filter(([tier, { statuses }]) => chosen.includes(tier) && statuses !== undefined)
       .map(([tier, told]) => (isAgain && told.again ? [tier, { statuses: told.again }] : [tier, told]))
       .filter(([tier]) => !isAgain || words.includes(process.cwd() + "/test/" + tier + "/some.test.ts"))
       .map(([tier, { statuses, fails }]) => ({
         name: process.cwd() + "/test/" + tier + "/some.test.ts",
         status: fails || statuses.includes("failed") ? "failed" : "passed",
         assertionResults: statuses.map((status) => ({ status })),
         startTime: 1_000,
         endTime: 3_500,
       }));
     fs.writeFileSync(words[words.indexOf("--outputFile") + 1], JSON.stringify({ testResults, wasInterrupted: false }));
     process.exitCode = isAgain ? Number(testResults.some(({ status }) => status === "failed")) : ${end};`,
  );
  const npmTest = (...args: string[]) =>
    finish([join(checkout.path, "bin/run-tests.mjs"), ...args], { cwd: checkout.path });
  return { checkout, npmTest };
}

test("npm test, when every tier passes, prints a table and the closing line and succeeds: early tiers run while Temporal is built, patient ones beside the others, quiet ones last", async () => {
  const tiers = { early: passing(1), domain: passing(7), quiet: passing(2), db: passing(5), patient: passing(3) };
  const { checkout, npmTest } = await aTestedCheckout(tiers);
  const { code, stdout, stderr } = await npmTest();
  expect({ code, last: stdout.trim().split("\n").at(-1) }).toEqual({ code: 0, last: "18 passed, 0 failed" });
  expect(stdout).toMatch(/domain +7 +0 +2\.5\n/);
  expect(stdout).toMatch(/All of it took [\d.]+ seconds/);
  expect(stderr).toMatch(/Tests may fail: no browser here[^]*Tests may fail: no Temporal here/);
  const calls = checkout.calls();
  const earlyOnes = calls.indexOf("jest --selectProjects early --json --outputFile --maxWorkers=1");
  expect(calls.slice(earlyOnes + 1).shift()).toBe("built");
  expect(calls.slice(earlyOnes + 2, earlyOnes + 4).toSorted()).toEqual([
    "jest --selectProjects domain db --json --outputFile",
    "jest --selectProjects patient --json --outputFile --maxWorkers=1",
  ]);
  expect(calls.slice(earlyOnes + 4)).toEqual(["jest --selectProjects quiet --json --outputFile --maxWorkers=1"]);
});

test.each<[problem: string, db: Told, jest: { end?: number; none?: boolean }, closing: string]>([
  ["ran no test", {}, {}, "1 passed, 1 failed"],
  ["left out 2 tests (skip or todo)", { statuses: ["passed", "pending", "todo"] }, { end: 1 }, "2 passed, 1 failed"],
  ["left out 1 file", { ...passing(1), silentAbout: ["deep/a.test.ts"] }, {}, "2 passed, 1 failed"],
  ["jest ended with code 1 and no results", {}, { none: true }, "0 passed, 2 failed"],
  ["", { statuses: ["passed", "failed"] }, { end: 1 }, "2 passed, 1 failed"],
  ["", { ...passing(2), fails: true }, { end: 1 }, "3 passed, 1 failed"],
  ["", { statuses: [], fails: true }, { end: 1 }, "1 passed, 1 failed"],
  ["", passing(1), { end: 3 }, "2 passed, 1 failed (jest ended with code 3)"],
])("npm test, with a tier that %j, %j, fails", async (problem, db, jest, closing) => {
  const { npmTest } = await aTestedCheckout({ domain: passing(1), db }, jest);
  const { code, stdout } = await npmTest();
  expect({ code, last: stdout.trim().split("\n").at(-1) }).toEqual({ code: 1, last: closing });
  expect(stdout).toContain(problem);
});

test("npm test runs a file that failed once more, by itself, and says so when it passes then", async () => {
  const { checkout, npmTest } = await aTestedCheckout(
    { domain: passing(2), db: { statuses: ["passed", "failed"], again: ["passed", "passed"] } },
    { end: 1 },
  );
  const { code, stdout, stderr } = await npmTest();
  expect({ code, last: stdout.trim().split("\n").at(-1) }).toEqual({ code: 0, last: "4 passed, 0 failed" });
  expect(stderr).toContain("Running again what failed, by itself: test/db/some.test.ts");
  expect(stdout).toContain("test/db/some.test.ts failed at first (see above) and passed when run again by itself.");
  expect(checkout.calls().filter((call) => call.startsWith("jest"))).toEqual([
    "jest --selectProjects domain db --json --outputFile",
    "jest --selectProjects domain db --json --outputFile --maxWorkers=1 --runTestsByPath",
  ]);
});

const unsteady: Told = { statuses: ["failed"], again: ["passed"] };

test.each<[string, Record<string, Told>]>([
  ["chaos", { domain: passing(1), chaos: unsteady }],
  ["more than three files", { a: unsteady, b: unsteady, c: unsteady, d: unsteady }],
])("npm test does not run again what failed in %s", async (_what, tiers) => {
  const { checkout, npmTest } = await aTestedCheckout(tiers, { end: 1 });
  expect((await npmTest()).code).toBe(1);
  expect(checkout.calls().filter((call) => call.startsWith("jest"))).toHaveLength(1);
});

test("npm test, given tiers and options of jest, runs only those tiers and hands the options on", async () => {
  const { checkout, npmTest } = await aTestedCheckout({
    domain: { statuses: ["passed", "pending"] },
    db: {},
    http: { ...passing(1), silentAbout: ["a.test.ts"] },
  });
  expect((await npmTest("domain", "http", "-t", "cron")).code).toBe(0);
  const calls = checkout.calls().filter((call) => call.startsWith("jest"));
  expect(calls).toEqual(["jest --selectProjects domain http --json --outputFile -t cron"]);
  expect(await npmTest("domian")).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("There is no tier domian. Tiers: domain, db, http."),
  });
  expect(await npmTest("db", "-t", "nothing")).toMatchObject({
    code: 1,
    stdout: expect.stringContaining("No test matched."),
  });
});
