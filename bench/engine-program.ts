import { fileURLToPath } from "node:url";
import { createSpool } from "../activities/spool.ts";
import { loadSettings } from "../src/config.ts";
import { prepareMachine } from "../src/setup/machine.ts";
import type { StartInput } from "../src/start/service.ts";
import { runStart } from "../src/start/start.ts";

/**
 * The service with sandbox and Python replaced by nothing: what is left is the engine. Every other step is the real one,
 * so an execution still spools a result, uploads, settles and answers. With the argument `whole` nothing is replaced: that
 * is the service from its modules, each under its own name, and not from the files that they are joined to.
 */
const checkout = fileURLToPath(new URL("../../", import.meta.url));
const report = (line: string): void => void process.stderr.write(`${line}\n`);
const env = { ...process.env };
const settings = loadSettings(env);
const machine = await prepareMachine({ env, settings, checkout, report });
const spool = createSpool(machine.paths.spool);

const runNothing: NonNullable<StartInput["runProgram"]> = async ({ executionId }) => {
  await spool.open(executionId);
  await spool.writeResult(executionId, { outputs: [], logPath: undefined, logBytes: 0 });
  return { status: "success", message: "", secondsUsed: 0.001 };
};

await runStart({
  env: machine.env,
  settings,
  machine,
  examplesDir: `${checkout}/examples`,
  report,
  ...(process.argv.includes("whole") ? {} : { runProgram: runNothing }),
});
process.exit(0);
