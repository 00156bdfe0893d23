import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import nodeVersion from "./node-version.cjs";
import { prepareCheckout } from "./setup.mjs";

const checkout = dirname(dirname(fileURLToPath(import.meta.url)));
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

/** Runs one tier and answers its figures. A test file that could not be loaded counts as one failure. */
async function runTier(tier, options, folder) {
  const results = join(folder, `${tier}.json`);
  const program = join(checkout, "node_modules/jest/bin/jest.js");
  const args = ["--experimental-vm-modules", "--disable-warning=ExperimentalWarning", program];
  const child = spawn(
    process.execPath,
    [...args, "--selectProjects", tier, "--json", "--outputFile", results, ...options],
    {
      cwd: checkout,
      // The results are in the file; the report for people is on standard error.
      stdio: ["ignore", "ignore", "inherit"],
    },
  );
  const code = await new Promise((resolve) => child.on("close", resolve));
  const found = await readFile(results, "utf8").then(JSON.parse, () => undefined);
  if (found === undefined)
    return { tier, passed: 0, failed: 0, left: 0, problem: `jest ended with code ${code} and no results` };
  return {
    tier,
    passed: found.numPassedTests,
    failed: found.numFailedTests + found.numRuntimeErrorTestSuites,
    left: found.numPendingTests + found.numTodoTests,
    problem: found.wasInterrupted ? "was interrupted" : undefined,
  };
}

/** What is wrong with a tier beyond failed tests. When only some tests were asked for, the others may be left out. */
function findProblem({ passed, failed, left, problem }, isSelection) {
  if (problem !== undefined) return problem;
  if (isSelection) return undefined;
  if (passed + failed === 0) return "ran no test";
  if (left > 0) return `left out ${left} test${left === 1 ? "" : "s"} (skip or todo)`;
  return undefined;
}

async function runTests(argv) {
  await prepareCheckout({ checkout, env: process.env, report, development: true });
  const { TIERS } = await import("../jest.config.js");
  const asked = parseArguments(argv, TIERS);
  if (asked === undefined) return 2;
  const { prepareTestMachine } = await import("../dist/src/setup/test-machine.js");
  for (const problem of await prepareTestMachine({ env: process.env, report })) report(`Tests may fail: ${problem}`);

  const isSelection = asked.options.length > 0;
  const folder = await mkdtemp(join(tmpdir(), "treadle-tests-"));
  const rows = [];
  try {
    for (const tier of asked.wanted) {
      const startedAt = Date.now();
      const figures = await runTier(tier, asked.options, folder);
      rows.push({ ...figures, problem: findProblem(figures, isSelection), seconds: (Date.now() - startedAt) / 1000 });
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  return summarize(rows, isSelection);
}

function summarize(rows, isSelection) {
  const line = (cells) => cells.map((cell, column) => (column === 0 ? cell.padEnd(12) : cell.padStart(8))).join(" ");
  console.log(`\n${line(["tier", "passed", "failed", "seconds"])}`);
  for (const { tier, passed, failed, seconds, problem } of rows) {
    console.log(
      line([tier, String(passed), String(failed), seconds.toFixed(1)]) + (problem === undefined ? "" : `   ${problem}`),
    );
  }
  const passed = rows.reduce((sum, row) => sum + row.passed, 0);
  const failed = rows.reduce((sum, row) => sum + row.failed + (row.problem === undefined ? 0 : 1), 0);
  if (isSelection && passed + failed === 0) {
    console.log("\nNo test matched.");
    return 1;
  }
  console.log(`\n${passed} passed, ${failed} failed`);
  return failed === 0 ? 0 : 1;
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
