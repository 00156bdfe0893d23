import { noteKeyUses } from "../../db/accounts/api-keys.ts";
import type { Db } from "../../db/connect.ts";
import { repeat } from "../../system/repeating.ts";
import type { Log } from "../log.ts";

const STORE_EVERY_MS = 30_000;

/** When API keys were last used. */
export interface KeyUses {
  /** Notes that the key with this hash has just opened something. */
  note(hash: Buffer): void;
  /** Stores what was noted since the last time. */
  store(): Promise<void>;
  /** Stores what is left, and stops. */
  close(): Promise<void>;
}

/**
 * Starts to note the last use of keys. It stores them every half minute, because a write for each call would slow each call.
 * A process that is killed loses half a minute of them.
 */
export function createKeyUses({ db, log }: { db: Db; log: Log }): KeyUses {
  let uses = new Map<string, { hash: Buffer; usedAt: Date }>();

  async function store(): Promise<void> {
    const noted = uses;
    uses = new Map();
    if (noted.size > 0) await noteKeyUses(db, [...noted.values()]);
  }

  const onError = (error: unknown): void =>
    log.warn({ event: "fault", error }, "The last use of API keys was not stored.");
  const storing = repeat(store, { everyMs: STORE_EVERY_MS, onError, first: "later" });
  return {
    note: (hash) => void uses.set(hash.toString("base64"), { hash, usedAt: new Date() }),
    store: storing.now,
    async close() {
      await storing.close();
      await store().catch(onError);
    },
  };
}
