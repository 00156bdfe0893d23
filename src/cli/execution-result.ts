import { setTimeout as sleep } from "node:timers/promises";
import type { Call, Client } from "./client.ts";
import type { Context } from "./command.ts";
import { createInterruption } from "./interruption.ts";
import { type Answer, toTable } from "./io.ts";
import type { Look } from "./look.ts";
import { toRefusal } from "./refusal.ts";

const NO_CREDITS = 402;
const POLL_MS_MIN = 150;
const POLL_MS_MAX = 2_000;
/** How long a second Ctrl-C is waited for. */
const CANCEL_SECONDS = 5;
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
  const executionId = await beginExecution(client, path, call);
  context.say(`Run  ${client.url}/executions/${executionId}`);
  return followToEnd(context, client, executionId);
}

/** Asks for an execution and answers its id as soon as it is accepted. Throws a Refusal when it is not. */
export async function beginExecution(client: Client, path: string, call: Call): Promise<string> {
  const { status, body } = await client.call("POST", path, {
    ...call,
    headers: { ...call.headers, prefer: "respond-async" },
  });
  const { executionId } = (typeof body === "object" && body !== null ? body : {}) as { executionId?: unknown };
  if (typeof executionId !== "string" || status === NO_CREDITS) throw toRefusal(status, body);
  return executionId;
}

/**
 * Prints the log of an execution as it grows until it has ended, and answers how. Ctrl-C ends the following and not the
 * execution; a second one soon after it cancels the execution, whose end is then waited for.
 */
export async function followToEnd(context: Context, client: Client, executionId: string): Promise<Answer> {
  const followed = createInterruption(context.io);
  const log = createFollowedLog(context);
  try {
    const envelope = await follow(client, { executionId, log, signal: followed.signal });
    if (!followed.signal.aborted || isEnd(envelope))
      return toEnvelopeAnswer(envelope, { mustSucceed: true, look: context.look });
    context.say(`\nThe run goes on. Ctrl-C again within ${CANCEL_SECONDS} seconds cancels it. Later:`);
    context.say(`  treadle logs -f ${executionId}            follows it again`);
    context.say(`  treadle executions cancel ${executionId}  cancels it`);
    if (!(await followed.comesAgain(CANCEL_SECONDS * 1000)))
      return { document: envelope, lines: [], interrupted: true };
  } finally {
    followed.end();
  }
  await cancelExecution(client, executionId);
  context.say(`Cancelling ${executionId}`);
  return toEnvelopeAnswer(await follow(client, { executionId, log }), {
    mustSucceed: true,
    look: context.look,
  });
}

/** A log as it is printed. */
interface FollowedLog {
  /** How many characters of it were printed. */
  printed: number;
  write(text: string): void;
}

/** Returns where the log of an execution is printed; undefined where nobody wants it. */
export function createFollowedLog({ json, io, quiet }: Context): FollowedLog | undefined {
  const out = json ? io.stderr : io.stdout;
  return quiet ? undefined : { printed: 0, write: (text) => void out.write(text.replace(LINE_PREFIX, "")) };
}

interface Following {
  readonly executionId: string;
  readonly log?: FollowedLog | undefined;
  /** Aborted when it is followed no more. */
  readonly signal?: AbortSignal;
}

/** Follows an execution until it has ended, or until `signal`, and answers its state then. */
export async function follow(client: Client, { executionId, log, signal }: Following): Promise<Envelope> {
  for (let pauseMs = POLL_MS_MIN; ; pauseMs = Math.min(pauseMs * 1.5, POLL_MS_MAX)) {
    const isLast = signal?.aborted === true; // once more: it may have ended meanwhile
    // Asked before the log is read: what is printed after the end is then always whole.
    const envelope = await getEnvelope(client, executionId);
    const text = log === undefined ? "" : await getLog(client, executionId);
    if (log !== undefined && text.length > log.printed) {
      log.write(text.slice(log.printed));
      log.printed = text.length;
      pauseMs = POLL_MS_MIN;
    }
    if (isLast || isEnd(envelope)) return envelope;
    await sleep(pauseMs, undefined, { signal }).catch(() => undefined);
  }
}

/** Asks the service to stop an execution. It ends a moment later. */
export function cancelExecution(client: Client, executionId: string): Promise<unknown> {
  return client.post<Envelope>(`${logPathOf(executionId)}/cancel`);
}

/** True once nothing of it changes any more. */
export function isEnd({ status }: Envelope): boolean {
  return status !== "queued" && status !== "running";
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
export function toEnvelopeAnswer(envelope: Envelope, options: { mustSucceed?: boolean; look?: Look } = {}): Answer {
  const { status, executionId, duration, cost, message, outputs = {} } = envelope;
  // Until it has ended, neither is more than what earlier attempts used.
  const time = duration === undefined || !isEnd(envelope) ? "" : ` in ${duration} s`;
  const price = cost === undefined || !isEnd(envelope) ? "" : `, ${cost.total} credits`;
  const lines = [`${options.look?.status(status) ?? status}${time}${price} (${executionId})`];
  if (message !== undefined && message !== "") lines.push(message);
  const rows = Object.entries(outputs);
  if (rows.length > 0) lines.push(...toTable(["Output", "URL"], rows));
  return { document: envelope, lines, good: options.mustSucceed !== true || status === "success" };
}
