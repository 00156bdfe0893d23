import { spawn } from "node:child_process";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { cpus, setPriority, tmpdir } from "node:os";
import { dirname, join, relative, sep } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import nodeVersion from "./node-version.cjs";
import { prepareCheckout } from "./setup.mjs";

const checkout = dirname(dirname(fileURLToPath(import.meta.url)));
/** More than this many files that fail are no accident of the machine. */
const AGAIN_FILES_MAX = 3;
/** What these find may happen once in many runs, and has been found all the same. */
const NEVER_AGAIN_TIERS = ["chaos"];
/** `nice` of the patient tiers. */
const PATIENT_PRIORITY = 10;
/** Files named after a whole run, as those to look at when it takes too long. */
const SLOWEST_FILES = 12;
const report = (line) => void process.stderr.write(`${line}\n`);

/** `[tier…] [anything for jest…]`: which tiers to run, and what to hand on. Undefined when a word is no tier. */
function parseArguments(argv, tiers) {
  const firstOption = argv.findIndex((word) => word.startsWith("-"));
  const named = firstOption === -1 ? argv : argv.slice(0, firstOption);
  const unknown = named.find((word) => !tiers.includes(word));
  if (unknown !== undefined) {
    report(`There is no tier ${unknown}. Tiers: ${tiers.join(", ")}.\nUsage: npm test -- [tier…] [options of jest…]`);
    return undefined;
  }
  return { wanted: named.length > 0 ? named : tiers, options: firstOption === -1 ? [] : argv.slice(firstOption) };
}

/**
 * Runs the tiers as one run of jest, several files at a time, and answers what it says of each file. Undefined when it
 * says nothing, or was interrupted.
 */
async function runJest(tiers, options, folder, priority = 0) {
  const results = join(folder, `results-of-${tiers.join("-")}.json`);
  const program = join(checkout, "node_modules/jest/bin/jest.js");
  const loader = pathToFileURL(join(checkout, "test/support/typescript-threads.mjs")).href;
  const args = ["--experimental-vm-modules", "--disable-warning=ExperimentalWarning", "--import", loader, program];
  const child = spawn(
    process.execPath,
    [...args, "--selectProjects", ...tiers, "--json", "--outputFile", results, ...options],
    {
      cwd: checkout,
      // The results are in the file; the report for people is on standard error.
      stdio: ["ignore", "ignore", "inherit"],
    },
  );
  const ended = new Promise((resolve) => child.on("close", resolve));
  if (child.pid !== undefined && priority !== 0) setPriority(child.pid, priority);
  const code = await ended;
  const found = await readFile(results, "utf8").then(JSON.parse, () => undefined);
  if (found === undefined) return { files: [], code, problem: `jest ended with code ${code} and no results` };
  return { files: found.testResults, code, problem: found.wasInterrupted ? "was interrupted" : undefined };
}

/**
 * Runs all tiers: the early ones at once, and everything else when Temporal's server is there. The patient ones run
 * beside the others, a file at a time, on what those leave of the processors; then the quiet ones, a file at a time.
 */
async function runAll(tiers, { early, patient, quiet }, temporal, folder) {
  const run = async (chosen, options, priority) =>
    chosen.length > 0 ? [await runJest(chosen, options, folder, priority)] : [];
  const among = (names) => tiers.filter((tier) => names.includes(tier));
  const others = tiers.filter((tier) => ![...early, ...patient, ...quiet].includes(tier));
  const runPatient = async () => {
    const first = await run(among(early), ["--maxWorkers=1"], PATIENT_PRIORITY);
    await temporal;
    return [...first, ...(await run(among(patient), ["--maxWorkers=1"], PATIENT_PRIORITY))];
  };
  const runs = (await Promise.all([temporal.then(() => run(others, [])), runPatient()])).flat();
  runs.push(...(await run(among(quiet), ["--maxWorkers=1"])));
  return {
    files: runs.flatMap(({ files }) => files),
    code: runs.find(({ code }) => code !== 0)?.code ?? 0,
    problem: runs.find(({ problem }) => problem !== undefined)?.problem,
  };
}

/**
 * Runs the files that failed once more, one at a time with the machine to themselves: most tests drive real servers and
 * processes, and a machine that stood still for seconds says nothing about the project. What fails again has failed; what
 * does not is named in the summary (docs/decisions/0011). Answers what jest says of all files then.
 */
async function runFailedAgain(first, tiers, folder) {
  const failed = first.files.filter(({ status }) => status === "failed").map(({ name }) => name);
  const isFinal = (path) => NEVER_AGAIN_TIERS.some((tier) => path.startsWith(join(checkout, "test", tier) + sep));
  if (first.problem !== undefined || failed.length === 0 || failed.length > AGAIN_FILES_MAX || failed.some(isFinal))
    return { ...first, unsteady: [] };
  report(`\nRunning again what failed, by itself: ${failed.map((path) => relative(checkout, path)).join(", ")}`);
  const second = await runJest(tiers, ["--maxWorkers=1", "--runTestsByPath", ...failed], folder);
  const again = new Map(second.files.map((file) => [file.name, file]));
  return {
    files: first.files.map((file) => again.get(file.name) ?? file),
    code: first.code === 1 ? second.code : first.code,
    problem: second.problem,
    unsteady: failed.filter((path) => again.get(path)?.status === "passed"),
  };
}

/** The figures of one tier, `seconds` being the sum of its files'. A file that failed though none of its tests did counts as one failure. */
async function countTests(tier, files) {
  const folder = join(checkout, "test", tier);
  const own = files.filter(({ name }) => name.startsWith(folder + sep));
  const tests = own.flatMap(({ assertionResults }) => assertionResults.map(({ status }) => status));
  const hasFailedTest = ({ assertionResults }) => assertionResults.some(({ status }) => status === "failed");
  const count = (...statuses) => tests.filter((status) => statuses.includes(status)).length;
  const there = await readdir(folder, { recursive: true }).catch(() => []);
  const told = new Set(own.map(({ name }) => name));
  return {
    tier,
    passed: count("passed"),
    failed: count("failed") + own.filter((file) => file.status === "failed" && !hasFailedTest(file)).length,
    left: tests.length - count("passed", "failed"),
    leftFiles: there.filter((path) => path.endsWith(".test.ts") && !told.has(join(folder, path))).length,
    seconds: own.reduce((sum, { startTime, endTime }) => sum + endTime - startTime, 0) / 1000,
  };
}

/** Returns the files that took longest, as lines to print. */
function listSlowest(files) {
  const timed = files.map(({ name, startTime, endTime }) => ({ name, seconds: (endTime - startTime) / 1000 }));
  timed.sort((a, b) => b.seconds - a.seconds);
  return timed
    .slice(0, SLOWEST_FILES)
    .map(({ name, seconds }) => `${seconds.toFixed(0).padStart(5)} s  ${relative(checkout, name)}`);
}

/** Milliseconds that the processors have had since the machine started, and how many of them they had nothing to do. */
function readProcessors() {
  const times = cpus().map((each) => each.times);
  const all = times.flatMap((each) => Object.values(each)).reduce((sum, ms) => sum + ms, 0);
  return { all, idle: times.reduce((sum, { idle }) => sum + idle, 0) };
}

/** What is wrong with a tier beyond failed tests. When only some tests were asked for, the others may be left out. */
function findProblem({ passed, failed, left, leftFiles }, isSelection) {
  if (isSelection) return undefined;
  if (passed + failed === 0) return "ran no test";
  if (leftFiles > 0) return `left out ${leftFiles} file${leftFiles === 1 ? "" : "s"}`;
  if (left > 0) return `left out ${left} test${left === 1 ? "" : "s"} (skip or todo)`;
  return undefined;
}

async function runTests(argv) {
  await prepareCheckout({ checkout, env: process.env, report, development: true });
  const { EARLY_TIERS: early, PATIENT_TIERS: patient, QUIET_TIERS: quiet, TIERS } = await import("../jest.config.js");
  const asked = parseArguments(argv, TIERS);
  if (asked === undefined) return 2;
  const { prepareTestMachine } = await import("../dist/src/setup/test-machine.js");
  const tell = (problem) => problem !== undefined && report(`Tests may fail: ${problem}`);
  const machine = await prepareTestMachine({ env: process.env, report });
  for (const problem of machine.problems) tell(problem);
  const temporal = machine.temporal.then(tell);

  const isSelection = asked.options.length > 0;
  const folder = await mkdtemp(join(tmpdir(), "treadle-tests-"));
  const startedAt = Date.now();
  const before = readProcessors();
  try {
    const first =
      asked.wanted === TIERS && !isSelection
        ? await runAll(TIERS, { early, patient, quiet }, temporal, folder)
        : await temporal.then(() => runJest(asked.wanted, asked.options, folder));
    const { files, code, problem, unsteady } = isSelection
      ? { ...first, unsteady: [] }
      : await runFailedAgain(first, asked.wanted, folder);
    const rows = [];
    for (const tier of asked.wanted) {
      const figures = await countTests(tier, files);
      rows.push({ ...figures, problem: problem ?? findProblem(figures, isSelection) });
    }
    if (!isSelection) console.log(`\nSlowest files:\n${listSlowest(files).join("\n")}`);
    const after = readProcessors();
    const busyShare = 1 - (after.idle - before.idle) / (after.all - before.all);
    return summarize(rows, { isSelection, code, unsteady, busyShare, seconds: (Date.now() - startedAt) / 1000 });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function summarize(rows, { isSelection, code, unsteady, busyShare, seconds }) {
  const line = (cells) => cells.map((cell, column) => (column === 0 ? cell.padEnd(12) : cell.padStart(8))).join(" ");
  console.log(`\n${line(["tier", "passed", "failed", "seconds"])}`);
  for (const { tier, passed, failed, seconds: ownSeconds, problem } of rows) {
    console.log(
      line([tier, String(passed), String(failed), ownSeconds.toFixed(1)]) +
        (problem === undefined ? "" : `   ${problem}`),
    );
  }
  for (const path of unsteady)
    console.log(`\n${relative(checkout, path)} failed at first (see above) and passed when run again by itself.`);
  const busy = `${(busyShare * 100).toFixed(0)} %`;
  console.log(`\nAll of it took ${seconds.toFixed(1)} seconds; the processors were busy for ${busy} of their time.`);
  const passed = rows.reduce((sum, row) => sum + row.passed, 0);
  const failed = rows.reduce((sum, row) => sum + row.failed + (row.problem === undefined ? 0 : 1), 0);
  if (isSelection && passed + failed === 0) {
    console.log("\nNo test matched.");
    return 1;
  }
  // What jest finds wrong beyond tests and files, it says above.
  const more = failed === 0 && code !== 0 ? 1 : 0;
  console.log(`\n${passed} passed, ${failed + more} failed${more > 0 ? ` (jest ended with code ${code})` : ""}`);
  return failed + more === 0 ? 0 : 1;
}

const tooOld = nodeVersion.explainOldNode(process.versions.node);
if (tooOld !== undefined) {
  report(tooOld);
  process.exitCode = 1;
} else {
  runTests(process.argv.slice(2)).then(
    (code) => {
      process.exitCode = code;
    },
    (error) => {
      report(error.message);
      process.exitCode = 1;
    },
  );
}
