import { Command, CommanderError } from "commander";
import { addAccountCommands } from "./accounts.ts";
import { addBackupCommand, type Backup } from "./backup.ts";
import type { Client } from "./client.ts";
import type { Act, Context } from "./command.ts";
import { addCommitCommands } from "./commits.ts";
import { addDoctorCommand, type Check } from "./doctor.ts";
import { addDraftCommands } from "./drafts.ts";
import { addExecutionCommands } from "./executions.ts";
import { type Answer, type CliIo, showIo } from "./io.ts";
import { addMemberCommands } from "./members.ts";
import { addPublishCommand } from "./publish.ts";
import { addRateCommands } from "./rates.ts";
import { Refusal } from "./refusal.ts";
import { addRestoreCommand, type Restore } from "./restore.ts";
import { addRunCommand } from "./run.ts";
import { addScheduleCommands } from "./schedules.ts";
import { findService } from "./service.ts";
import { addSessionCommands } from "./sessions.ts";
import { addStartCommand, type StartOptions } from "./start.ts";
import { addStorageCommands } from "./storage.ts";
import { addTokenCommands } from "./tokens.ts";
import { addWorkflowCommands } from "./workflows.ts";

const EXIT_DONE = 0;
const EXIT_REFUSED = 1;
const EXIT_WRONG_USAGE = 2;

/** What the command line can do beyond asking a service, handed in by who has it. */
export interface CliParts {
  /** Starts the service and resolves with the exit code when it has stopped. */
  readonly start?: (options: StartOptions) => Promise<number>;
  /** What `doctor` looks at on this machine. */
  readonly checkMachine?: (dataDir: string) => Promise<readonly Check[]>;
  readonly backup?: Backup;
  readonly restore?: Restore;
}

/**
 * Runs one command (`argv` without node and script) and answers its exit code: 0 done, 1 refused, 2 wrong usage.
 * With `--json` exactly one JSON document goes to standard output, also on a refusal. A bug of ours is thrown.
 */
export async function runCli(argv: readonly string[], io: CliIo, parts: CliParts = {}): Promise<number> {
  let exitCode = EXIT_DONE;
  let client: Client | undefined;
  const act: Act =
    (perform) =>
    async (...parameters) => {
      const command = parameters.at(-1) as Command;
      const options = command.optsWithGlobals<{ json?: boolean; dataDir?: string; raw?: boolean }>();
      const shown = showIo(io, { raw: options.raw === true });
      const context: Context = {
        io: shown.io,
        json: options.json === true,
        dataDir: options.dataDir,
        say: (line) => void shown.io.stderr.write(`${line}\n`),
        client: async () => {
          const { createClient } = await import("./client.ts"); // a start has nobody to ask
          client ??= createClient(await findService(io, options.dataDir));
          return client;
        },
      };
      exitCode = await perform(context, command.args, options as Parameters<typeof perform>[2]).then(
        (answer) => writeAnswer(context, answer),
        (error: unknown) => writeRefusal(context, error),
      );
      shown.finish();
    };
  try {
    await createProgram(io, act, parts, (code) => (exitCode = code)).parseAsync([...argv], { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return error.exitCode === 0 ? EXIT_DONE : EXIT_WRONG_USAGE;
  } finally {
    await client?.close();
  }
  return exitCode;
}

function createProgram(io: CliIo, act: Act, parts: CliParts, exitWith: (code: number) => void): Command {
  const program = new Command("treadle")
    .description("Publishes and runs Python workflows.")
    .option("--json", "answer with one JSON document on standard output")
    .option("--data-dir <folder>", "the data folder of the service to use")
    .option("--raw", "write control sequences of programs to a terminal as they are")
    .exitOverride()
    .showHelpAfterError('("--help" shows how to use it)')
    .configureOutput({ writeOut: (text) => io.stdout.write(text), writeErr: (text) => io.stderr.write(text) });
  addStartCommand(program, parts.start, exitWith);
  addPublishCommand(program, act);
  addRunCommand(program, act);
  addWorkflowCommands(program, act);
  addDraftCommands(program, act);
  addCommitCommands(program, act);
  addAccountCommands(program, act);
  addMemberCommands(program, act);
  addTokenCommands(program, act);
  addSessionCommands(program, act);
  addRateCommands(program, act);
  addStorageCommands(program, act);
  addExecutionCommands(program, act);
  addScheduleCommands(program, act);
  addBackupCommand(program, act, parts.backup);
  addRestoreCommand(program, act, parts.restore);
  addDoctorCommand(program, act, parts.checkMachine);
  return program;
}

function writeAnswer({ io, json }: Context, { document, lines, good = true }: Answer): number {
  const text = json ? JSON.stringify(document, undefined, 2) : lines.join("\n");
  if (text !== "") io.stdout.write(`${text}\n`);
  return good ? EXIT_DONE : EXIT_REFUSED;
}

function writeRefusal({ io, json }: Context, error: unknown): number {
  if (!(error instanceof Refusal)) throw error;
  if (json) io.stdout.write(`${JSON.stringify(error.toDocument(), undefined, 2)}\n`);
  else io.stderr.write(`${error.toLines().join("\n")}\n`);
  return EXIT_REFUSED;
}
