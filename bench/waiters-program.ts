import { appendFile } from "node:fs/promises";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { fileURLToPath } from "node:url";
import { createSpool } from "../activities/spool.ts";
import { loadSettings } from "../src/config.ts";
import { prepareMachine } from "../src/setup/machine.ts";
import { runStart } from "../src/start/start.ts";

const AFTER_COLLECTION_MS = 100;

/**
 * The service with a program that does not end in the place of sandbox and Python. At each SIGUSR2 it writes a line to
 * `process.argv[2]`: its memory, and the longest stall of the event loop since the line before.
 */
const checkout = fileURLToPath(new URL("../../", import.meta.url));
const [, , reportPath = ""] = process.argv;
const env = { ...process.env };
const settings = loadSettings(env);
const report = (line: string): void => void process.stderr.write(`${line}\n`);
const machine = await prepareMachine({ env, settings, checkout, report });
const spool = createSpool(machine.paths.spool);
const delay = monitorEventLoopDelay({ resolution: 1 });
delay.enable();

process.on("SIGUSR2", () => {
  const stallMs = delay.max / 1e6;
  globalThis.gc?.();
  const { rss, heapUsed, external } = process.memoryUsage();
  // The collection itself stalls, and is measured when the loop goes on.
  setTimeout(() => {
    delay.reset();
    void appendFile(reportPath, `${JSON.stringify({ rss, heapUsed, external, stallMs })}\n`);
  }, AFTER_COLLECTION_MS);
});

await runStart({
  env: machine.env,
  settings,
  machine,
  examplesDir: `${checkout}/examples`,
  report,
  runProgram: async ({ executionId }, signal) => {
    await spool.open(executionId);
    await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
    await spool.writeResult(executionId, { outputs: [], logPath: undefined, logBytes: 0 });
    return { status: "cancelled", message: "", secondsUsed: 0 };
  },
});
process.exit(0);
