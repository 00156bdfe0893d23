import { NoSuchObjectError, type Storage } from "../../storage/storage.ts";

const LINES_MAX = 20;
/** Of all lines together, in characters. */
const TEXT_MAX = 4_000;
/** Of the end of the log, which is read: a line of it may be 64 KiB. */
const BYTES_READ = 262_144;

/** Returns the last lines of a kept log as texts, the oldest first. Empty where it is not kept any more. */
export async function readLogEnd(storage: Pick<Storage, "get" | "head">, key: string): Promise<string[]> {
  try {
    const bytes = (await storage.head(key))?.bytes ?? 0;
    if (bytes === 0) return [];
    const start = Math.max(0, bytes - BYTES_READ);
    const chunks: Buffer[] = [];
    for await (const chunk of await storage.get(key, { start, end: bytes - 1 })) chunks.push(chunk as Buffer);
    const lines = Buffer.concat(chunks).toString("utf8").split("\n");
    // The first one may begin in its middle.
    return takeLast(lines.slice(start === 0 ? 0 : 1).flatMap(toText));
  } catch (error) {
    if (error instanceof NoSuchObjectError) return [];
    throw error;
  }
}

/** A line is kept as `{ id, time, stream, text }`. */
function toText(line: string): string[] {
  return line === "" ? [] : [(JSON.parse(line) as { text: string }).text];
}

function takeLast(lines: readonly string[]): string[] {
  const taken: string[] = [];
  let left = TEXT_MAX;
  for (const line of lines.slice(-LINES_MAX).reverse()) {
    if (left <= 0) break;
    taken.unshift(line.length > left ? `${line.slice(0, left)}…` : line);
    left -= line.length + 1;
  }
  return taken;
}
