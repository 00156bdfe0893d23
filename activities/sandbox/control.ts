import type { Progress } from "./request.ts";

const LINE_BYTES_MAX = 32 * 1024;
/** A thousand outputs with long names are about 0.5 MB; whoever sends more is not the runner. */
const TOTAL_BYTES_MAX = 4 * 1024 * 1024;
const PROGRESS_EVENTS_MAX = 2_000;
const OUTPUT_NAME_CHARS_MAX = 200;
const MESSAGE_CHARS_MAX = 2_000;

/** How the runner says the user's code ended. `memory`: an uncaught MemoryError. */
export interface ReportedEnd {
  readonly kind: "exit" | "error" | "memory";
  readonly code: number;
  readonly message: string;
}

export type ControlEvent =
  | { readonly type: "ready"; readonly stdout: number; readonly stderr: number }
  /** The next thing the runner does is to read the user's code. */
  | { readonly type: "started" }
  | { readonly type: "mode"; readonly mode: "script" | "function" }
  | { readonly type: "progress"; readonly progress: Progress }
  | { readonly type: "output"; readonly name: string; readonly file: string }
  | ({ readonly type: "end" } & ReportedEnd);

/**
 * Reads the runner's events. From `started` on, whatever arrives may come from user code: an event only ever affects
 * what is said of its own execution, so what is malformed, too long or too much is dropped without further notice.
 */
export function createControlReader(onEvent: (event: ControlEvent) => void): (chunk: Buffer) => void {
  let pending: Buffer[] = [];
  let pendingBytes = 0;
  let totalBytes = 0;
  let progressEvents = 0;

  const take = (line: Buffer) => {
    const event = parseEvent(line);
    if (event === undefined) return;
    if (event.type === "progress" && ++progressEvents > PROGRESS_EVENTS_MAX) return;
    onEvent(event);
  };
  return (chunk) => {
    totalBytes += chunk.length;
    if (totalBytes > TOTAL_BYTES_MAX) return;
    let start = 0;
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, start)) {
      const part = chunk.subarray(start, end);
      if (pendingBytes + part.length <= LINE_BYTES_MAX) take(Buffer.concat([...pending, part]));
      pending = [];
      pendingBytes = 0;
      start = end + 1;
    }
    const rest = chunk.subarray(start);
    pendingBytes += rest.length;
    // The parts of a line that is too long already are not kept, only counted.
    if (pendingBytes <= LINE_BYTES_MAX) pending.push(rest);
    else pending = [];
  };
}

function parseEvent(line: Buffer): ControlEvent | undefined {
  let value: unknown;
  try {
    value = JSON.parse(line.toString("utf8"));
  } catch {
    return undefined;
  }
  if (typeof value !== "object" || value === null) return undefined;
  const fields = value as Readonly<Record<string, unknown>>;
  switch (fields.type) {
    case "ready":
      return isDescriptor(fields.stdout) && isDescriptor(fields.stderr)
        ? { type: "ready", stdout: fields.stdout, stderr: fields.stderr }
        : undefined;
    case "started":
      return { type: "started" };
    case "mode":
      return { type: "mode", mode: fields.mode === "function" ? "function" : "script" };
    case "progress":
      return toProgress(fields);
    case "output":
      return isOutputName(fields.name) && typeof fields.file === "string"
        ? { type: "output", name: fields.name, file: fields.file }
        : undefined;
    case "end":
      return toEnd(fields);
    default:
      return undefined;
  }
}

/** What the runner lets pass as an output's name; anything else came from somebody else, and the file keeps its own name. */
function isOutputName(value: unknown): value is string {
  if (typeof value !== "string" || value === "" || value.length > OUTPUT_NAME_CHARS_MAX) return false;
  return !/[\p{Cc}\p{Cs}/\\]/u.test(value) && !/^\.+$/.test(value);
}

function toProgress({ fraction, message }: Readonly<Record<string, unknown>>): ControlEvent | undefined {
  if (typeof fraction !== "number" || !(fraction >= 0 && fraction <= 1)) return undefined;
  return { type: "progress", progress: { fraction, message: toText(message, 200) } };
}

function toEnd({ kind, code, message }: Readonly<Record<string, unknown>>): ControlEvent | undefined {
  if (kind !== "exit" && kind !== "error" && kind !== "memory") return undefined;
  if (typeof code !== "number" || !Number.isInteger(code)) return undefined;
  return { type: "end", kind, code, message: toText(message, MESSAGE_CHARS_MAX) };
}

/** Well-formed text without NUL, which PostgreSQL refuses. */
export function toText(value: unknown, charsMax: number): string {
  if (typeof value !== "string") return "";
  return Buffer.from(value.slice(0, charsMax)).toString("utf8").replaceAll("\0", "\ufffd");
}

function isDescriptor(value: unknown): value is number {
  return typeof value === "number" && Number.isInteger(value) && value > 2 && value < 1_000_000;
}
