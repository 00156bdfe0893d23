import { randomBytes } from "node:crypto";
import { Readable } from "node:stream";
import type { Storage } from "./storage.ts";

const PROBE_MS_MAX = 1_000;

/** Writes a small object, reads it back, deletes it. Throws what it met, or after a second without an answer. */
export async function probeStorage(storage: Pick<Storage, "put" | "get" | "delete">, name: string): Promise<void> {
  const giveUp = AbortSignal.timeout(PROBE_MS_MAX);
  const late = new Promise<never>((_, reject) => {
    giveUp.addEventListener("abort", () => reject(new Error(`${name} did not answer within ${PROBE_MS_MAX} ms.`)), {
      once: true,
    });
  });
  await Promise.race([writeAndRead(storage, name, giveUp), late]);
}

async function writeAndRead(
  storage: Pick<Storage, "put" | "get" | "delete">,
  name: string,
  signal: AbortSignal,
): Promise<void> {
  const key = `probes/${randomBytes(12).toString("hex")}`;
  const written = randomBytes(32);
  await storage.put(key, Readable.from([written]), { signal });
  try {
    const read: Buffer[] = [];
    for await (const chunk of await storage.get(key)) read.push(chunk as Buffer);
    if (!Buffer.concat(read).equals(written)) throw new Error(`${name} gave back other bytes than were stored.`);
  } finally {
    await storage.delete(key);
  }
}
