import { runChaos } from "./chaos.ts";
import { type ChaosOptions, parseOptions, toCommand, USAGE } from "./options.ts";
import { describeFindings, describeRun } from "./report.ts";

const SAME_SIGNAL_MS = 1_000;

/** `npm run chaos`: exit code 0 when everything the checker looks at is as it must be, 1 with what is not, 2 on wrong usage. */
async function run(chaos: ChaosOptions): Promise<number> {
  const startedAt = Date.now();
  const say = (line: string): void =>
    console.log(`${((Date.now() - startedAt) / 1000).toFixed(0).padStart(5)} s  ${line}`);
  console.log(`Seed ${chaos.seed}. The same again: ${toCommand(chaos)}`);
  const { signal } = stopOnRequest();
  const { evidence, findings, seconds, folder } = await runChaos({ chaos, env: process.env, say, signal });
  console.log(`\n${describeRun(evidence, seconds).join("\n")}`);
  if (findings.length === 0) {
    console.log(
      "\nEvery execution came to one end, every answer agrees with the record, every credit and every tick is accounted for.",
    );
    return 0;
  }
  console.log(`\n${findings.length} findings:\n${describeFindings(findings).join("\n")}`);
  console.log(`\nRecord, log and evidence are in ${folder}.\nSeed ${chaos.seed}. The same again: ${toCommand(chaos)}`);
  return 1;
}

/** The first Ctrl-C ends the load, so that all that was started is stopped and looked at; the second ends it at once. */
function stopOnRequest(): AbortController {
  const controller = new AbortController();
  let firstAt = Number.NEGATIVE_INFINITY;
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.on(signal, () => {
      // npm hands on what the terminal has sent to both.
      if (Date.now() - firstAt < SAME_SIGNAL_MS) return;
      if (controller.signal.aborted) process.exit(1);
      firstAt = Date.now();
      console.log("Ending the load, then looking at what has happened. Once more to end at once.");
      controller.abort();
    });
  }
  return controller;
}

let chaos: ChaosOptions | undefined;
try {
  chaos = parseOptions(process.argv.slice(2));
} catch (error) {
  console.error(`${(error as Error).message}\n\n${USAGE}`);
  process.exitCode = 2;
}
if (chaos !== undefined) {
  try {
    process.exitCode = await run(chaos);
  } catch (error) {
    console.error(error, `\nSeed ${chaos.seed}. The same again: ${toCommand(chaos)}`);
    process.exitCode = 1;
  }
}
