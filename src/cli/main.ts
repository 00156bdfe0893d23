import { PassThrough } from "node:stream";
import { Command, CommanderError } from "commander";
import { isWorkflowId } from "../../domain/ids.ts";
import { findVersion } from "../version.ts";
import { addAccountCommands } from "./accounts.ts";
import { addBackupCommand, type Backup } from "./backup.ts";
import type { Client } from "./client.ts";
import { type Act, addCommonOptions, type Context } from "./command.ts";
import { addCommitCommands } from "./commits.ts";
import { addCompletionCommand } from "./completion.ts";
import { addDestinationCommands } from "./destinations.ts";
import { addDevCommand } from "./dev.ts";
import { addDoctorCommand, type MachineParts } from "./doctor.ts";
import { addDraftCommands } from "./drafts.ts";
import { addExecutionCommands } from "./executions.ts";
import { addHostsCommand } from "./hosts.ts";
import { addInitCommand } from "./init.ts";
import { type Answer, type CliIo, showIo } from "./io.ts";
import { addLoginCommands } from "./login.ts";
import { createLook } from "./look.ts";
import { addMasterKeyCommands, type RotateMaster } from "./master-key.ts";
import { addMemberCommands } from "./members.ts";
import { addMigrateCommand, type MigrateDatabase } from "./migrate.ts";
import { addNotifyCommands } from "./notify.ts";
import { addOpenCommand } from "./open.ts";
import { addPublishCommand } from "./publish.ts";
import { addRateCommands } from "./rates.ts";
import { Refusal } from "./refusal.ts";
import { addRestoreCommand, type Restore } from "./restore.ts";
import { addRunCommand } from "./run.ts";
import { addScheduleCommands } from "./schedules.ts";
import { findService } from "./service.ts";
import { addSessionCommands } from "./sessions.ts";
import { addStartCommand, type StartOptions } from "./start.ts";
import { createStatusLine } from "./status-line.ts";
import { addStorageCommands } from "./storage.ts";
import { addTestCommand } from "./test.ts";
import { addTokenCommands } from "./tokens.ts";
import { addTrustCommand } from "./trust.ts";
import { addValueCommands } from "./values.ts";
import { requireWorkflow } from "./workflow-names.ts";
import { addWorkflowCommands } from "./workflows.ts";

const EXIT_DONE = 0;
const EXIT_REFUSED = 1;
const EXIT_WRONG_USAGE = 2;
/** As a shell counts a program that SIGINT ended. */
const EXIT_INTERRUPTED = 128 + 2;

/** What the command line can do beyond asking a service, handed in by who has it. */
export interface CliParts extends MachineParts {
  /** Starts the service and resolves with the exit code when it has stopped. */
  readonly start?: (options: StartOptions) => Promise<number>;
  readonly backup?: Backup;
  readonly restore?: Restore;
  readonly rotateMaster?: RotateMaster;
  readonly migrate?: MigrateDatabase;
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
      const options = command.optsWithGlobals<CommonOptions>();
      const shown = showIo(io, { raw: options.raw === true });
      const context = createContext(io, shown.io, options, async () => {
        const { createClient } = await import("./client.ts"); // a start has nobody to ask
        client ??= createClient(await findService(io, options.dataDir));
        return client;
      });
      exitCode = await nameWorkflows(context, command, options)
        .then((args) => perform(context, args, options as Parameters<typeof perform>[2]))
        .finally(() => context.status.clear())
        .then(
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

interface CommonOptions {
  readonly json?: boolean;
  readonly quiet?: boolean;
  readonly dataDir?: string;
  readonly raw?: boolean;
  readonly account?: string;
  /** Of commands that take one: its name, and its id once it is known. */
  workflow?: string;
}

/** `shown` is where texts of others go; the line of progress is ours, and goes to the terminal itself. */
function createContext(io: CliIo, shown: CliIo, options: CommonOptions, client: Context["client"]): Context {
  const quiet = options.quiet === true;
  const status = createStatusLine(quiet ? new PassThrough() : io.stderr);
  return {
    io: shown,
    json: options.json === true,
    quiet,
    dataDir: options.dataDir,
    look: createLook(io),
    status,
    say(line) {
      if (quiet) return;
      status.clear();
      shown.stderr.write(`${line}\n`);
    },
    client,
  };
}

/** Returns the arguments of a command, with the id of each workflow that was named by its name, in `options` as well. */
async function nameWorkflows(context: Context, command: Command, options: CommonOptions): Promise<readonly string[]> {
  const name = async (text: string): Promise<string> =>
    isWorkflowId(text) ? text : requireWorkflow(await context.client(), text, options.account);
  const args = [...command.args];
  for (const [index, argument] of command.registeredArguments.entries()) {
    const text = args[index];
    if (argument.name() === "workflow" && text !== undefined) args[index] = await name(text);
  }
  if (options.workflow !== undefined) options.workflow = await name(options.workflow);
  return args;
}

function createProgram(io: CliIo, act: Act, parts: CliParts, exitWith: (code: number) => void): Command {
  const program = addCommonOptions(new Command("treadle"))
    .description("Publishes and runs Python workflows.")
    .version(findVersion(), "-V, --version", "print the version of this command line")
    .exitOverride()
    .showHelpAfterError('("--help" shows how to use it)')
    .configureOutput({ writeOut: (text) => io.stdout.write(text), writeErr: (text) => io.stderr.write(text) });
  addStartCommand(program, parts.start, exitWith);
  addInitCommand(program, act);
  addPublishCommand(program, act);
  addRunCommand(program, act);
  addDevCommand(program, act);
  addTestCommand(program, act);
  addOpenCommand(program, act);
  addLoginCommands(program, act);
  addWorkflowCommands(program, act);
  addDraftCommands(program, act);
  addCommitCommands(program, act);
  addAccountCommands(program, act);
  addMemberCommands(program, act);
  addTokenCommands(program, act);
  addSessionCommands(program, act);
  addHostsCommand(program, act);
  addRateCommands(program, act);
  addStorageCommands(program, act);
  addExecutionCommands(program, act);
  addScheduleCommands(program, act);
  addValueCommands(program, act);
  addNotifyCommands(program, act);
  addDestinationCommands(program, act);
  addMasterKeyCommands(program, act, parts.rotateMaster);
  addBackupCommand(program, act, parts.backup);
  addRestoreCommand(program, act, parts.restore);
  addMigrateCommand(program, act, parts.migrate);
  addDoctorCommand(program, act, parts);
  addTrustCommand(program, act);
  addCompletionCommand(program, act);
  return program;
}

function writeAnswer({ io, json }: Context, { document, lines, good = true, interrupted = false }: Answer): number {
  const text = json ? JSON.stringify(document, undefined, 2) : lines.join("\n");
  if (text !== "") io.stdout.write(`${text}\n`);
  if (interrupted) return EXIT_INTERRUPTED;
  return good ? EXIT_DONE : EXIT_REFUSED;
}

function writeRefusal({ io, json }: Context, error: unknown): number {
  if (!(error instanceof Refusal)) throw error;
  if (json) io.stdout.write(`${JSON.stringify(error.toDocument(), undefined, 2)}\n`);
  else io.stderr.write(`${error.toLines().join("\n")}\n`);
  return EXIT_REFUSED;
}
