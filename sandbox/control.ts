import type { Progress } from "./request.ts";

const LINE_BYTES_MAX = 32 * 1024;
/** A thousand outputs with long names are about 0.5 MB. */
const TOTAL_BYTES_MAX = 4 * 1024 * 1024;
/** `treadle.progress` sends at most 20 lines a second, of 1.3 KB each where every character of a message is escaped. */
const BYTES_PER_SECOND = 64 * 1024;
/** Of what comes beyond the two. The outputs and the end are the last that a runner says. */
const REST_BYTES = 512 * 1024;
const CLOCK_STARTED_AT_MS = Number(process.hrtime.bigint()) / 1e6 - performance.now();
/** Every event begins so. What does not costs no parsing. */
const EVENT_START = Buffer.from('{"type":"');
const OUTPUT_NAME_CHARS_MAX = 200;
const MESSAGE_CHARS_MAX = 2_000;

/** How the runner says the user's code ended. `memory`: an uncaught MemoryError. */
export interface ReportedEnd {
  readonly kind: "exit" | "error" | "memory";
  readonly code: number;
  readonly message: string;
  /** By `performance.now()`, as the runner says. */
  readonly atMs: number | undefined;
  /** What it used, as the runner says; undefined where it does not know. */
  readonly memoryBytes: number | undefined;
  readonly processorSeconds: number | undefined;
}

export type ControlEvent =
  | { readonly type: "ready"; readonly stdout: number; readonly stderr: number }
  /** The next thing the runner does is to read the user's code. */
  | { readonly type: "started"; readonly atMs: number | undefined }
  | { readonly type: "mode"; readonly mode: "script" | "function" }
  | { readonly type: "progress"; readonly progress: Progress }
  | { readonly type: "output"; readonly name: string; readonly file: string }
  | ({ readonly type: "end" } & ReportedEnd);

export interface ControlReader {
  take(chunk: Buffer): void;
  /** Reads what was only kept until now. To be called once, when nothing more can come. */
  end(): void;
}

/**
 * Reads the runner's events. From `started` on, user code can send events, too. An event only affects reports of its
 * own execution, and a malformed or too long one is dropped. When a program sends more than a runner does, no more is
 * read while it runs. The newest part is kept, and read at the end. Of the progress in it the newest counts.
 */
export function createControlReader(
  onEvent: (event: ControlEvent) => void,
  now: () => number = () => performance.now(),
): ControlReader {
  const startedAtMs = now();
  const rest = createRest(REST_BYTES);
  let totalBytes = 0;
  let isFlooded = false;
  const lines = createLineReader((line) => {
    const event = parseEvent(line);
    if (event !== undefined) onEvent(event);
  });
  const hasTooMuch = () => totalBytes > TOTAL_BYTES_MAX + (BYTES_PER_SECOND * (now() - startedAtMs)) / 1000;
  return {
    take(chunk) {
      totalBytes += chunk.length;
      if (!isFlooded && hasTooMuch()) {
        isFlooded = true;
        rest.add(lines.begun());
      }
      if (isFlooded) rest.add(chunk);
      else lines.read(chunk);
    },
    end() {
      let newest: ControlEvent | undefined;
      const last = createLineReader((line) => {
        const event = parseEvent(line);
        if (event?.type === "progress") newest = event;
        else if (event !== undefined) onEvent(event);
      });
      last.read(rest.newest());
      if (newest !== undefined) onEvent(newest);
    },
  };
}

/** Keeps the newest bytes of a stream, in one piece of memory. */
function createRest(bytesMax: number) {
  let ring: Buffer | undefined;
  let total = 0;
  return {
    add(chunk: Buffer) {
      ring ??= Buffer.alloc(bytesMax);
      const part = chunk.subarray(Math.max(0, chunk.length - bytesMax));
      const at = (total + chunk.length - part.length) % bytesMax;
      const atEnd = part.copy(ring, at);
      part.copy(ring, 0, atEnd);
      total += chunk.length;
    },
    newest(): Buffer {
      if (ring === undefined) return Buffer.alloc(0);
      const at = total % bytesMax;
      return total < bytesMax ? ring.subarray(0, at) : Buffer.concat([ring.subarray(at), ring.subarray(0, at)]);
    },
  };
}

/** Gives each line that may be an event, and none that is too long. */
function createLineReader(onLine: (line: Buffer) => void) {
  let pending: Buffer[] = [];
  let pendingBytes = 0;
  const take = (part: Buffer) => {
    const bytes = pendingBytes + part.length;
    if (bytes <= EVENT_START.length || bytes > LINE_BYTES_MAX) return;
    const line = pending.length === 0 ? part : Buffer.concat([...pending, part]);
    if (EVENT_START.compare(line, 0, EVENT_START.length) === 0) onLine(line);
  };
  return {
    read(chunk: Buffer) {
      let start = 0;
      for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, start)) {
        take(chunk.subarray(start, end));
        pending = [];
        pendingBytes = 0;
        start = end + 1;
      }
      const part = chunk.subarray(start);
      pendingBytes += part.length;
      // The parts of a line that is too long already are not kept, only counted.
      if (pendingBytes <= LINE_BYTES_MAX) pending.push(part);
      else pending = [];
    },
    /** The line that has no end yet. */
    begun: () => Buffer.concat(pending),
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
      return { type: "started", atMs: toOurClock(fields.at) };
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

/**
 * What the runner lets pass as an output's name. Anything else did not come from the runner, and the file keeps its own
 * name.
 */
function isOutputName(value: unknown): value is string {
  if (typeof value !== "string" || value === "" || value.length > OUTPUT_NAME_CHARS_MAX) return false;
  return !/[\p{Cc}\p{Cs}/\\]/u.test(value) && !/^\.+$/.test(value);
}

function toProgress({ fraction, message }: Readonly<Record<string, unknown>>): ControlEvent | undefined {
  if (typeof fraction !== "number" || !(fraction >= 0 && fraction <= 1)) return undefined;
  return { type: "progress", progress: { fraction, message: toText(message, 200) } };
}

function toEnd({
  kind,
  code,
  message,
  at,
  memory,
  processor,
}: Readonly<Record<string, unknown>>): ControlEvent | undefined {
  if (kind !== "exit" && kind !== "error" && kind !== "memory") return undefined;
  if (typeof code !== "number" || !Number.isInteger(code)) return undefined;
  return {
    type: "end",
    kind,
    code,
    message: toText(message, MESSAGE_CHARS_MAX),
    atMs: toOurClock(at),
    memoryBytes: toPositive(memory),
    processorSeconds: toPositive(processor),
  };
}

/** Python's `time.monotonic()` reads the clock that ours is a part of, but in gVisor, which has one of its own. */
function toOurClock(seconds: unknown): number | undefined {
  return typeof seconds === "number" ? seconds * 1000 - CLOCK_STARTED_AT_MS : undefined;
}

/** gVisor's kernel knows no peak of memory, and says 0. */
function toPositive(value: unknown): number | undefined {
  return typeof value === "number" && value > 0 ? value : undefined;
}

/** Well-formed text without NUL, which PostgreSQL refuses. */
export function toText(value: unknown, charsMax: number): string {
  if (typeof value !== "string") return "";
  return Buffer.from(value.slice(0, charsMax)).toString("utf8").replaceAll("\0", "\ufffd");
}

function isDescriptor(value: unknown): value is number {
  return typeof value === "number" && Number.isInteger(value) && value > 2 && value < 1_000_000;
}
