// The command line without a service of its own: what the package `treadle` runs. bin/build-client.mjs makes one file of it.
import { runCli } from "../src/cli/main.ts";
import { createProcessIo } from "../src/cli/process-io.ts";

try {
  process.exitCode = await runCli(process.argv.slice(2), createProcessIo(process.env));
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
