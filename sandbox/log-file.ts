import { once } from "node:events";
import { createWriteStream, existsSync, readFileSync, truncateSync, type WriteStream, writeFileSync } from "node:fs";
import type { LogLine } from "./request.ts";

/** What is written within this time goes to the disk together; most executions have ended by then. */
const FLUSH_AFTER_MS = 100;
/** A fast writer is flushed by size: a tenth of a second of its lines would take much memory. */
const PENDING_CHARS_MAX = 64 * 1024;
const LINE_FEED = 10;
const FILE = { mode: 0o600 } as const;

/** What a log holds already: the id of its last line, and how many lines and bytes of text. */
export interface EarlierLog {
  readonly isThere: boolean;
  readonly lastId: number;
  readonly lines: number;
  readonly textBytes: number;
}

/**
 * Reads what earlier attempts have written to a log. Cuts off what a killed service left unfinished at its end: a
 * reader would find half a line in the middle otherwise.
 */
export function readEarlierLog(path: string): EarlierLog {
  const earlier = { isThere: existsSync(path), lastId: 0, lines: 0, textBytes: 0 };
  if (!earlier.isThere) return earlier;
  const content = readFileSync(path);
  let end = 0;
  for (let next = content.indexOf(LINE_FEED); next >= 0; next = content.indexOf(LINE_FEED, end)) {
    const line = parseLine(content.toString("utf8", end, next));
    if (line === undefined) break;
    earlier.lastId = line.id;
    earlier.lines += 1;
    earlier.textBytes += Buffer.byteLength(line.text);
    end = next + 1;
  }
  if (end < content.length) truncateSync(path, end);
  return earlier;
}

function parseLine(text: string): LogLine | undefined {
  try {
    return JSON.parse(text) as LogLine;
  } catch {
    return undefined;
  }
}

/**
 * A file that text is appended to, new unless an attempt continues it. A short one is written in one go at the end, a
 * longer one while it grows.
 */
export interface LogFile {
  write(text: string): void;
  /**
   * Rejects when anything could not be written. A file that nothing was written to is not made. With `isHeld`, neither is a new one that
   * all of is still to be written: then it resolves with the text.
   */
  close(isHeld?: boolean): Promise<string | undefined>;
}

export function createLogFile(path: string, isNew: boolean): LogFile {
  const flags = isNew ? "wx" : "a";
  let pending = "";
  let stream: WriteStream | undefined;
  let timer: NodeJS.Timeout | undefined;
  let failure: Error | undefined;

  const open = () => {
    clearTimeout(timer);
    stream = createWriteStream(path, { ...FILE, flags, highWaterMark: 1 << 20 });
    stream.on("error", (error) => {
      failure ??= error;
    });
    stream.write(pending);
    pending = "";
  };
  return {
    write(text) {
      if (stream !== undefined) return void stream.write(text);
      pending += text;
      if (pending.length > PENDING_CHARS_MAX) open();
      else timer ??= setTimeout(open, FLUSH_AFTER_MS).unref();
    },
    async close(isHeld = false) {
      clearTimeout(timer);
      if (stream === undefined) {
        if (isHeld && isNew) return pending;
        if (pending !== "") writeFileSync(path, pending, { ...FILE, flag: flags });
      } else if (!stream.destroyed) {
        stream.end();
        await once(stream, "close");
      }
      if (failure) throw new Error(`The log ${path} could not be written.`, { cause: failure });
      return undefined;
    },
  };
}
