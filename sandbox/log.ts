import { StringDecoder } from "node:string_decoder";
import { createLogFile, readEarlierLog } from "./log-file.ts";
import type { Mask } from "./masking.ts";
import type { LogLine, LogStream } from "./request.ts";

/** A program may print gigabytes without a line feed. Longer lines are cut into pieces of this length. */
const LINE_CHARS_MAX = 64 * 1024;
/** A line costs about 80 bytes on disk beside its text, so a log of empty lines needs a bound of its own. */
const LOG_BYTES_PER_LINE_MIN = 20;

export interface LogRecorder {
  /** Takes bytes as the program wrote them. Never refuses, so that the program never waits for the log. */
  add(stream: "stdout" | "stderr", chunk: Buffer): void;
  /** A remark of the sandbox itself; it is written also above the limit. */
  note(text: string): void;
  /**
   * Writes out what is left, unfinished lines too. The file is complete when it resolves. With `isHeld`, a short log of which nothing has
   * been written yet is returned, and there is no file.
   */
  close(isHeld?: boolean): Promise<{ logBytes: number; logTruncated: boolean; logText?: string | undefined }>;
}

interface LogOptions {
  readonly onLine?: ((line: LogLine) => void) | undefined;
  readonly idsAfter?: number | undefined;
  /** Of what neither the file nor `onLine` may have. */
  readonly mask?: Mask | undefined;
}

/**
 * Records the output of a program as lines `{ id, time, stream, text }` in a file at `path`, behind what an earlier
 * attempt has written there. Ids and the bound of all attempts together go on, and ids are above `idsAfter`. Text is
 * UTF-8 with replacement characters, and lines over 64 KiB come in pieces. After `bytesMax` bytes the rest is dropped
 * and a last line says so.
 */
export function createLogRecorder(
  path: string,
  bytesMax: number,
  { onLine, idsAfter = 0, mask }: LogOptions = {},
): LogRecorder {
  const earlier = readEarlierLog(path);
  const file = createLogFile(path, !earlier.isThere);
  const linesMax = Math.ceil(bytesMax / LOG_BYTES_PER_LINE_MIN);
  let id = Math.max(earlier.lastId, idsAfter);
  let { lines, textBytes: bytes } = earlier;
  let noteBytes = 0;
  let truncated = false;
  let batch: string[] = [];

  const write = (stream: LogStream, text: string) => {
    lines += 1;
    // NUL has no place in a text column of PostgreSQL, nor on a terminal.
    const line: LogLine = {
      id: ++id,
      time: new Date().toISOString(),
      stream,
      text: text.replaceAll("\0", "\ufffd"),
    };
    batch.push(JSON.stringify(line));
    onLine?.(line);
  };
  const flush = () => {
    if (batch.length > 0) file.write(`${batch.join("\n")}\n`);
    batch = [];
  };
  const emit = (stream: "stdout" | "stderr", text: string) => {
    if (lines >= linesMax) truncated = true;
    if (!truncated) write(stream, text);
  };
  const readers = {
    stdout: createReader(mask, (text) => emit("stdout", text)),
    stderr: createReader(mask, (text) => emit("stderr", text)),
  };

  const finish = async (isHeld: boolean) => {
    const wasCut = truncated;
    truncated = false; // What came before the cut is complete with its last, unfinished line.
    for (const reader of Object.values(readers)) reader.end(wasCut);
    truncated ||= wasCut;
    if (truncated) write("system", `The log is cut here: it reached its limit of ${bytesMax} bytes.`);
    flush();
    const logText = await file.close(isHeld);
    return { logBytes: bytes + noteBytes, logTruncated: truncated, logText };
  };
  let closed: ReturnType<typeof finish> | undefined;

  return {
    add(stream, chunk) {
      if (truncated) return;
      const room = Math.max(0, bytesMax - bytes);
      const taken = chunk.length > room ? chunk.subarray(0, room) : chunk;
      bytes += taken.length;
      if (taken.length > 0) readers[stream].add(taken);
      if (taken.length < chunk.length) truncated = true;
      flush();
    },
    note(text) {
      noteBytes += Buffer.byteLength(text);
      write("system", text);
      flush();
    },
    close: (isHeld = false) => (closed ??= finish(isHeld)),
  };
}

/** Masks what must not be shown, and cuts the rest into lines. */
function createReader(mask: Mask | undefined, emit: (text: string) => void) {
  const splitter = createLineSplitter(emit);
  const masker = mask?.createMasker();
  return {
    add: (chunk: Buffer) => splitter.add(masker?.add(chunk) ?? chunk),
    end(isCut: boolean) {
      if (masker !== undefined) splitter.add(masker.end(isCut));
      splitter.end();
    },
  };
}

/** Cuts bytes into lines of text, the longest ones in pieces, and keeps what has no end yet. */
function createLineSplitter(emit: (text: string) => void) {
  const decoder = new StringDecoder("utf8");
  let rest = "";
  return {
    add(chunk: Buffer) {
      const parts = (rest + decoder.write(chunk)).split("\n");
      rest = parts.pop() ?? "";
      for (const part of parts) for (const piece of toPieces(withoutReturn(part))) emit(piece);
      while (rest.length > LINE_CHARS_MAX) {
        const [piece, after] = cut(rest);
        emit(piece);
        rest = after;
      }
    },
    end() {
      const last = rest + decoder.end();
      if (last !== "") for (const piece of toPieces(last)) emit(piece);
    },
  };
}

/** A program that ends its lines by CR LF means one line end. */
function withoutReturn(text: string): string {
  return text.endsWith("\r") ? text.slice(0, -1) : text;
}

function toPieces(text: string): string[] {
  const pieces: string[] = [];
  let rest = text;
  while (rest.length > LINE_CHARS_MAX) {
    const [piece, after] = cut(rest);
    pieces.push(piece);
    rest = after;
  }
  return [...pieces, rest];
}

/** Cuts a long text without parting a surrogate pair. */
function cut(text: string): [string, string] {
  const last = text.charCodeAt(LINE_CHARS_MAX - 1);
  const at = last >= 0xd800 && last < 0xdc00 ? LINE_CHARS_MAX - 1 : LINE_CHARS_MAX;
  return [text.slice(0, at), text.slice(at)];
}
