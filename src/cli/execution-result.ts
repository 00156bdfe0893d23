import { setTimeout as sleep } from "node:timers/promises";
import type { Call, Client } from "./client.ts";
import type { Context } from "./command.ts";
import { type Answer, toTable } from "./io.ts";
import { toRefusal } from "./refusal.ts";

const NO_CREDITS = 402;
const POLL_MS_MIN = 150;
const POLL_MS_MAX = 2_000;
/** The time and stream before each line of a log. A reader who follows it live needs neither. */
const LINE_PREFIX = /^\d{4}-\S+ (?:stdout|stderr|system) /gm;

/** What execute and `GET /api/run-logs/{id}` answer: the parts the command line shows. */
export interface Envelope {
  readonly status: string;
  readonly executionId: string;
  readonly duration?: number;
  readonly outputs?: Readonly<Record<string, string>>;
  readonly cost?: { readonly compute: number; readonly total: number };
  readonly message?: string;
}

/** Asks for an execution, prints its log as it grows until it has ended, and answers how it ended: bad news unless it succeeded. */
export async function execute(context: Context, client: Client, path: string, call: Call): Promise<Answer> {
  const { status, body } = await client.call("POST", path, {
    ...call,
    headers: { ...call.headers, prefer: "respond-async" },
  });
  const { executionId } = (typeof body === "object" && body !== null ? body : {}) as { executionId?: unknown };
  if (typeof executionId !== "string" || status === NO_CREDITS) throw toRefusal(status, body);
  return toEnvelopeAnswer(await follow(context, client, executionId), { mustSucceed: true });
}

async function follow(context: Context, client: Client, executionId: string): Promise<Envelope> {
  const out = context.json ? context.io.stderr : context.io.stdout;
  let printed = 0;
  for (let pauseMs = POLL_MS_MIN; ; pauseMs = Math.min(pauseMs * 1.5, POLL_MS_MAX)) {
    // Asked before the log is read: what is printed after the end is then always whole.
    const envelope = await getEnvelope(client, executionId);
    const log = await getLog(client, executionId);
    if (log.length > printed) {
      out.write(log.slice(printed).replace(LINE_PREFIX, ""));
      printed = log.length;
      pauseMs = POLL_MS_MIN;
    }
    if (envelope.status !== "queued" && envelope.status !== "running") {
      return envelope;
    }
    await sleep(pauseMs);
  }
}

/** The address customers use for an execution. */
export function logPathOf(executionId: string): string {
  return `/api/run-logs/${encodeURIComponent(executionId)}`;
}

export async function getEnvelope(client: Client, executionId: string): Promise<Envelope> {
  return client.get<Envelope>(logPathOf(executionId));
}

/** The log so far. One that has not begun is empty. */
export async function getLog(client: Client, executionId: string): Promise<string> {
  const { status, body } = await client.call("GET", `${logPathOf(executionId)}/logs`, {
    headers: { accept: "text/plain" },
  });
  if (status !== 200) throw toRefusal(status, body);
  return typeof body === "string" ? body : "";
}

/** An execution as people read it. Good news only when it succeeded or still goes on, if `mustSucceed`. */
export function toEnvelopeAnswer(envelope: Envelope, options: { mustSucceed?: boolean } = {}): Answer {
  const { status, executionId, duration, cost, message, outputs = {} } = envelope;
  const time = duration === undefined ? "" : ` in ${duration} s`;
  const price = cost === undefined ? "" : `, ${cost.total} credits`;
  const lines = [`${status}${time}${price} (${executionId})`];
  if (message !== undefined && message !== "") lines.push(message);
  const rows = Object.entries(outputs);
  if (rows.length > 0) lines.push(...toTable(["Output", "URL"], rows));
  return { document: envelope, lines, good: options.mustSucceed !== true || status === "success" };
}
