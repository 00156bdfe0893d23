import { closeSync, fsyncSync, openSync, readFileSync, writeSync } from "node:fs";

export interface SentFile {
  readonly input: string;
  readonly fileName: string;
  readonly bytes: number;
}

/** A schedule as a commit declares it. */
export interface Declared {
  readonly enabled: boolean;
  readonly cron: string;
  readonly timezone: string;
  readonly overlap: "skip" | "queue" | "allow" | "cancel_previous";
  readonly catchup: "none" | "latest" | "all";
  readonly jitterSeconds: number;
}

/** What a client asks for. `delete`: a workflow. `backfill`: past ticks of its schedule. */
export type Purpose = "execute" | "result" | "log" | "file" | "cancel" | "publish" | "delete" | "backfill";

/** A request, written down before it is sent. `request` numbers it; times are milliseconds since 1970. */
export interface RequestLine {
  readonly type: "request";
  readonly at: number;
  readonly request: number;
  readonly purpose: Purpose;
  readonly workflow: string;
  /** Of an execute call; of a commit, where the inputs are those of its schedule's executions; of whatever else is sent until it is answered. */
  readonly token?: string;
  readonly inputs?: Readonly<Record<string, unknown>>;
  readonly files?: readonly SentFile[];
  readonly idempotencyKey?: string;
  readonly prefer?: string;
  /** Sent to find out whether the service knows idempotency keys. */
  readonly isProbe?: boolean;
  /** Of a commit; null: it declares none. */
  readonly schedule?: Declared | null;
  readonly workflowId?: string;
  /** Of a backfill: what was due from the one on and before the other, milliseconds since 1970. */
  readonly from?: number;
  readonly to?: number;
  /** Of all others. */
  readonly executionId?: string;
  readonly fileName?: string;
}

/** The whole answer to a request. A body that is not JSON is kept as its hash. */
export interface AnswerLine {
  readonly type: "answer";
  readonly at: number;
  readonly request: number;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Readonly<Record<string, unknown>>;
  readonly sha256?: string;
  readonly bytes?: number;
  /** The beginning of a text. */
  readonly text?: string;
}

/** No answer, or not all of it. `refused`: nobody listened, so nothing was sent. `hung_up`: the client did not want to wait. */
export interface SilenceLine {
  readonly type: "silence";
  readonly at: number;
  readonly request: number;
  readonly cause: "refused" | "hung_up" | "broken" | "too_long";
  readonly reason: string;
}

/** What was done to the service, from `at` to `until`. */
export interface FaultLine {
  readonly type: "fault";
  readonly at: number;
  readonly until: number;
  readonly kind: "kill" | "pause" | "refuse" | "fill" | "restart" | "cut";
  readonly victim?: string;
  readonly pid?: number;
  /** What it was, in words; why it was left out, when it was. */
  readonly note: string;
  readonly done: boolean;
}

/**
 * What the service did: `ended` by itself or by us, `ready` again. What it must not do: leave a process behind, or take
 * calls without saying so in its data dir.
 */
export interface ServiceLine {
  readonly type: "service";
  readonly at: number;
  readonly event: "started" | "ready" | "ended" | "left_behind" | "unannounced";
  readonly note: string;
}

/** How a program had ended that a service kept when it died. */
export interface LeftEndLine {
  readonly type: "left_end";
  readonly at: number;
  readonly executionId: string;
  readonly attempt: number;
  readonly status: string;
}

/** A message that a place got. */
export interface NoticeLine {
  readonly type: "notice";
  readonly at: number;
  readonly place: string;
  /** Its id, by the header. */
  readonly notice: string;
  /** The `type` of the message. */
  readonly kind: string;
  readonly more: number;
  readonly executionId: string | null;
  /** What the place answered; null: nothing. */
  readonly status: number | null;
}

export type Line = RequestLine | AnswerLine | SilenceLine | FaultLine | ServiceLine | LeftEndLine | NoticeLine;

export interface ClientRecord {
  write(line: Line): void;
  /** The next number for a request. */
  nextRequest(): number;
  close(): void;
}

/** A file of lines of JSON. A line is in the file when `write` returns. */
export function openRecord(path: string): ClientRecord {
  const file = openSync(path, "wx", 0o600);
  let requests = 0;
  return {
    write: (line) => void writeSync(file, `${JSON.stringify(line)}\n`),
    nextRequest: () => ++requests,
    close() {
      fsyncSync(file);
      closeSync(file);
    },
  };
}

export function readRecord(path: string): Line[] {
  const lines = readFileSync(path, "utf8").split("\n").filter(Boolean);
  return lines.map((line) => JSON.parse(line) as Line);
}
