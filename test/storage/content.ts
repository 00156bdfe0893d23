import { createHash, randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import type { Storage } from "../../storage/storage.ts";

export async function keysOf(storage: Storage, prefix: string): Promise<string[]> {
  const keys: string[] = [];
  for await (const key of storage.list(prefix)) keys.push(key);
  return keys.sort();
}

export async function read(storage: Storage, key: string, range?: { start: number; end: number }): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of await storage.get(key, range)) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

export function sha256(content: Buffer): string {
  return createHash("sha256").update(content).digest("hex");
}

/** A stream that never ends by itself; `onSent` hears how many bytes it has given so far. */
export function endlessContent(onSent: (bytes: number) => void = () => undefined): Readable {
  let sent = 0;
  return new Readable({
    read() {
      sent += 65_536;
      this.push(Buffer.alloc(65_536, 7));
      onSent(sent);
    },
  });
}

export async function aFile(folder: string, content: string | Buffer): Promise<string> {
  const path = join(folder, `file-${randomBytes(6).toString("hex")}`);
  await writeFile(path, content);
  return path;
}

/** The content in pieces from one byte to 200,000. */
export function inChunks(content: Buffer): Readable {
  const chunks: Buffer[] = [];
  for (let from = 0, size = 1; from < content.length; from += size, size = (size * 7 + 13) % 200_003) {
    chunks.push(content.subarray(from, from + size));
  }
  return Readable.from(chunks);
}
