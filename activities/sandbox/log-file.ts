import { once } from "node:events";
import { createWriteStream, type WriteStream, writeFileSync } from "node:fs";

/** What is written within this time goes to the disk together; most executions have ended by then. */
const FLUSH_AFTER_MS = 100;
const PENDING_CHARS_MAX = 64 * 1024;
const FILE = { mode: 0o600 } as const;

/** A new file that text is appended to: a short one in one go at the end, a longer one while it grows. */
export interface LogFile {
  write(text: string): void;
  /** Rejects when anything could not be written. A file that nothing was written to is not made. */
  close(): Promise<void>;
}

export function createLogFile(path: string): LogFile {
  let pending = "";
  let stream: WriteStream | undefined;
  let timer: NodeJS.Timeout | undefined;
  let failure: Error | undefined;

  const open = () => {
    clearTimeout(timer);
    stream = createWriteStream(path, { ...FILE, flags: "wx", highWaterMark: 1 << 20 });
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
    async close() {
      clearTimeout(timer);
      if (stream === undefined) {
        if (pending !== "") writeFileSync(path, pending, { ...FILE, flag: "wx" });
      } else if (!stream.destroyed) {
        stream.end();
        await once(stream, "close");
      }
      if (failure) throw new Error(`The log ${path} could not be written.`, { cause: failure });
    },
  };
}
