import { readFile } from "node:fs/promises";
import { type Settings, slotCountOf } from "../config.ts";
import { type ConnectionBounds, refusingMax } from "../http/server/connections.ts";

/** Node.js itself, Temporal's client, listeners, logs, locks; 70 were counted in an idle service. */
const OWN = 120;
/** Connections of a process to the database. The embedded server takes 60: enough for two processes and for looking in. */
export const POOL_MAX = 20;
/** The pool, and the session that listens. */
const DATABASE = POOL_MAX + 1;
/** Pipes, status and processes of an interpreter that waits. */
const PER_LANE = 6;
/** Of a program that runs: the same, its log, files of outputs on their way to storage, and folders that are removed. */
const PER_PROGRAM = 16;
/** Of what is left; the rest is for files that callers send and read. */
const CONNECTIONS_SHARE = 0.75;
const CONNECTIONS_MIN = 16;
/** Fewer than this is worth a warning. */
const CONNECTIONS_GOOD = 256;

export interface DescriptorBudget extends ConnectionBounds {
  readonly ok: boolean;
  /** How many connections there may be and why; where they are fewer than set, what to do. */
  readonly message: string;
}

/** Files that this process may have open: the soft limit, which Node.js has raised to the hard one. Infinity: no limit. */
export async function readDescriptorLimit(): Promise<number> {
  const limits = await readFile("/proc/self/limits", "utf8");
  const soft = /^Max open files\s+(\S+)/m.exec(limits)?.[1];
  return soft === "unlimited" || soft === undefined ? Number.POSITIVE_INFINITY : Number(soft);
}

/**
 * Divides the files that a process may have open: what its role needs comes first, connections get most of the rest, up to
 * their setting. Throws where what is left is no use, with the limit that would be.
 */
export function budgetDescriptors(settings: Settings, limit: number): DescriptorBudget {
  const programs =
    settings.TREADLE_ROLE === "api" ? 0 : settings.TREADLE_LANES_MAX * PER_LANE + slotCountOf(settings) * PER_PROGRAM;
  const needed = OWN + DATABASE + programs;
  const wanted = settings.TREADLE_CONNECTIONS_MAX;
  const limitFor = (connections: number): number =>
    needed + Math.ceil((connections + refusingMax(connections)) / CONNECTIONS_SHARE);
  if (limit < limitFor(CONNECTIONS_MIN))
    throw new Error(
      `The process may have ${limit} files open and needs ${limitFor(CONNECTIONS_MIN)} or more: ${needed} for itself, the database, lanes and programs, the rest for connections. ${howToRaise(limitFor(wanted))} Or lower TREADLE_LANES_MAX and TREADLE_SANDBOX_SLOTS.`,
    );
  const max = limitFor(wanted) <= limit ? wanted : fittingIn((limit - needed) * CONNECTIONS_SHARE);
  const perAddressMax = Math.min(settings.TREADLE_CONNECTIONS_PER_ADDRESS_MAX, Math.max(1, Math.floor(max / 2)));
  const bounds = { max, perAddressMax };
  if (max === wanted)
    return { ...bounds, ok: true, message: `Up to ${max} connections; the process may have ${limit} files open.` };
  const message = `Up to ${max} connections instead of ${wanted} (TREADLE_CONNECTIONS_MAX): the process may have ${limit} files open. ${howToRaise(limitFor(wanted))}`;
  return { ...bounds, ok: max >= CONNECTIONS_GOOD, message };
}

/** The most connections that leave room for those that are to be refused. */
function fittingIn(descriptors: number): number {
  let max = CONNECTIONS_MIN;
  while (max + 1 + refusingMax(max + 1) <= descriptors) max += 1;
  return max;
}

function howToRaise(limit: number): string {
  return `Allow it ${limit}: LimitNOFILE= in a systemd unit, --ulimit nofile= of Docker, or ulimit -Hn of the shell.`;
}
