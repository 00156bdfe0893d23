import { randomInt } from "node:crypto";
import { parseArgs } from "node:util";
import { SCHEDULES_MAX } from "./load/schedules.ts";

export interface ChaosOptions {
  /** Executions that clients must have been told of before the load ends. */
  readonly executions: number;
  readonly kills: number;
  readonly seed: string;
  readonly clients: number;
  /** Workflows that the clock starts. */
  readonly schedules: number;
  /** Whether a hostile tenant does its worst beside the honest ones. */
  readonly hostile: boolean;
  /** Whether four processes share PostgreSQL, Temporal and storage: two that answer calls, two that run programs. */
  readonly cluster: boolean;
  /** The load ends after this time at the latest; undefined: when it is done. */
  readonly secondsMax: number | undefined;
  /** Keeps record, log and evidence of a run without findings, too. */
  readonly keep: boolean;
}

export const USAGE = `npm run chaos -- [--executions N] [--kills K] [--seed S] [--seconds MAX] [--clients C]
                     [--schedules W] [--hostile] [--cluster] [--keep]

  --executions  executions to be accepted (200; the long form: 2000)
  --kills       SIGKILLs; pauses, full disks, refusals and restarts come in proportion (20; the long form: 60)
  --seed        repeats the faults and calls of an earlier run
  --seconds     ends the load after this time, however far it is
  --clients     clients that call at the same time (10)
  --schedules   workflows that the clock starts (${SCHEDULES_MAX}, which is the most)
  --hostile     a tenant of another account attacks the machine meanwhile
  --cluster     two processes of the role api and two workers share PostgreSQL, Temporal and an S3 server
  --keep        keeps record, log and evidence of a run in which all was well`;

/** Reads the command line. Throws a RangeError that says what is wrong. */
export function parseOptions(argv: readonly string[]): ChaosOptions {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      executions: { type: "string", default: "200" },
      kills: { type: "string", default: "20" },
      seed: { type: "string", default: String(randomInt(1_000_000)) },
      seconds: { type: "string" },
      clients: { type: "string", default: "10" },
      schedules: { type: "string", default: String(SCHEDULES_MAX) },
      hostile: { type: "boolean", default: false },
      cluster: { type: "boolean", default: false },
      keep: { type: "boolean", default: false },
    },
  });
  if (!/^[0-9A-Za-z-]{1,40}$/.test(values.seed)) throw new RangeError("--seed takes letters, digits and hyphens.");
  return {
    executions: toCount("executions", values.executions, 1),
    kills: toCount("kills", values.kills, 0),
    seed: values.seed,
    clients: toCount("clients", values.clients, 1),
    schedules: toCount("schedules", values.schedules, 0, SCHEDULES_MAX),
    secondsMax: values.seconds === undefined ? undefined : toCount("seconds", values.seconds, 1),
    hostile: values.hostile,
    cluster: values.cluster,
    keep: values.keep,
  };
}

/** The command that does the same again. */
export function toCommand({ executions, kills, seed, clients, schedules, hostile, cluster }: ChaosOptions): string {
  const load = `--executions ${executions} --kills ${kills} --seed ${seed} --clients ${clients}`;
  return `npm run chaos -- ${load} --schedules ${schedules}${hostile ? " --hostile" : ""}${cluster ? " --cluster" : ""}`;
}

function toCount(name: string, text: string, min: number, max = 100_000): number {
  const count = Number(text);
  if (!Number.isInteger(count) || count < min || count > max)
    throw new RangeError(`--${name} takes a whole number from ${min} to ${max}, not ${JSON.stringify(text)}.`);
  return count;
}
