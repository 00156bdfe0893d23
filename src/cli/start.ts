import type { Command } from "commander";
import { parsePort } from "./command.ts";

export interface StartOptions {
  readonly port?: number;
  readonly dataDir?: string;
  readonly open?: boolean;
}

/** `start`: stays until the service stops. */
export function addStartCommand(
  program: Command,
  start: ((options: StartOptions) => Promise<number>) | undefined,
  exitWith: (code: number) => void,
): void {
  program
    .command("start")
    .description("start the service")
    .option("--port <number>", "the port to listen on", parsePort)
    .option("--data-dir <folder>", "where the service keeps its data")
    .option("--open", "open the service in a browser when it is ready")
    .action(async (_options, command: Command) => {
      if (start === undefined) command.error("This command line cannot start a service. Use bin/treadle start.");
      else exitWith(await start(command.optsWithGlobals<StartOptions>()));
    });
}
