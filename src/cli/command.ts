import { type Command, InvalidArgumentError } from "commander";
import { parseDuration } from "../../domain/manifest/durations.ts";
import { ROLES, type Role } from "../../domain/members.ts";
import type { Client } from "./client.ts";
import type { Answer, CliIo } from "./io.ts";
import type { Look } from "./look.ts";
import type { StatusLine } from "./status-line.ts";

/** What a command may use. The service is looked for when it is first needed. */
export interface Context {
  readonly io: CliIo;
  readonly json: boolean;
  readonly dataDir: string | undefined;
  client(): Promise<Client>;
  /** A message on the way, for people: standard error, never part of the answer. `--quiet` leaves it out. */
  say(line: string): void;
  /** The last line of a terminal; nothing elsewhere, nor with `--quiet`. */
  readonly status: StatusLine;
  readonly look: Look;
  readonly quiet: boolean;
}

export type Perform<Options> = (context: Context, args: readonly string[], options: Options) => Promise<Answer>;

/** Turns what a command does into commander's action. */
export type Act = <Options>(perform: Perform<Options>) => (...parameters: unknown[]) => Promise<void>;

/** A command with the options that every command takes. */
export function addCommand(parent: Command, usage: string, description: string): Command {
  return addCommonOptions(parent.command(usage).description(description));
}

/** The options that every command takes, behind its name or before it. */
export function addCommonOptions(command: Command): Command {
  return command
    .option("--json", "answer with one JSON document on standard output")
    .option("-q, --quiet", "print the answer alone: no progress, and no log of a run")
    .option("--data-dir <folder>", "the data folder of the service to use")
    .option("--raw", "write control sequences of programs to a terminal as they are");
}

/** A group such as `credits`; alone it prints its help as wrong usage. */
export function addGroup(parent: Command, name: string, description: string): Command {
  return parent.command(name).description(description);
}

export function parseCount(text: string): number {
  if (!/^[1-9]\d{0,3}$/.test(text) || Number(text) > 1_000)
    throw new InvalidArgumentError("It must be a whole number from 1 to 1000.");
  return Number(text);
}

export function parseRole(text: string): Role {
  const role = ROLES.find((one) => one === text);
  if (role === undefined) throw new InvalidArgumentError(`It must be one of ${ROLES.join(", ")}.`);
  return role;
}

export function parsePort(text: string): number {
  if (!/^\d{1,5}$/.test(text) || Number(text) > 65_535)
    throw new InvalidArgumentError("It must be a port, from 0 to 65535.");
  return Number(text);
}

/** Whole seconds of `1h`, `90m`, `30s`. */
export function parseSeconds(text: string): number {
  const seconds = parseDuration(text);
  if (seconds === undefined) throw new InvalidArgumentError("It must be a length of time such as 1h, 30m or 1h30m.");
  return Math.ceil(seconds);
}

export function parseAmount(text: string): string {
  if (!/^-?\d{1,12}(\.\d{1,6})?$/.test(text))
    throw new InvalidArgumentError("It must be a number of credits with at most 6 decimals.");
  return text;
}
