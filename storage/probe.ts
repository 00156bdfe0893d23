import { randomBytes } from "node:crypto";
import { Readable } from "node:stream";
import { withTimeout } from "../system/with-timeout.ts";
import type { Storage } from "./storage.ts";

const PROBE_MS_MAX = 1_000;

/** Writes a small object, reads it back, deletes it. Throws what it met, or after a second without an answer. */
export async function probeStorage(storage: Pick<Storage, "put" | "get" | "delete">, name: string): Promise<void> {
  const giveUp = AbortSignal.timeout(PROBE_MS_MAX);
  await withTimeout(writeAndRead(storage, name, giveUp), PROBE_MS_MAX, () => {
    throw new Error(`${name} did not answer within ${PROBE_MS_MAX} ms.`);
  });
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
