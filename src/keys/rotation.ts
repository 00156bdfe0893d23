import { chown, rename, rm, stat } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import type { Db } from "../../db/connect.ts";
import { type KeyHost, listKeyHosts, listSealed, replaceSealed, SEALED_COLUMNS } from "../../db/secrets/sealed-rows.ts";
import { writeWhole } from "../../system/whole-file.ts";
import { loadOrCreateKey, readKey } from "./key-file.ts";
import { idOfKey, keyFilesOf } from "./key-ring.ts";
import { createSecretBox, type SecretBox } from "./secret-box.ts";

const ROWS_AT_ONCE = 500;
const LOOK_EVERY_MS = 500;
/** A process reads its key files every two seconds, and tells of them every ten. */
const HOSTS_TIMEOUT_MS = 60_000;
/** What a process had sealed with the old key when it got the new one is written by then. */
const SETTLE_MS = 5_000;

/** The rotation cannot go on now. Run again, it goes on from where it is. */
export class RotationHeldUp extends Error {
  override readonly name = "RotationHeldUp";
}

export interface Rotated {
  /** Rows that were sealed anew, by table. */
  readonly resealed: Readonly<Record<string, number>>;
}

interface Rotation {
  readonly db: Db;
  /** The path of the master key. */
  readonly file: string;
  readonly report: (line: string) => void;
  /** How long it waits for the hosts; a minute unless given. */
  readonly hostsTimeoutMs?: number;
}

/**
 * Replaces the master key while the service runs. First every process can open what a new key seals, then every process seals
 * with it. Then everything is sealed anew, and the old key goes. Where it is, the files say: killed at any point and run
 * again, it goes on. Throws RotationHeldUp where a host does not get the key.
 */
export async function rotateMasterKey(rotation: Rotation): Promise<Rotated> {
  const { db, file, report } = rotation;
  const { next, previous } = keyFilesOf(file);
  const current = await requireKey(file);
  const isUnderWay = (await readKey(previous)) !== undefined && (await readKey(next)) === undefined;
  if (!isUnderWay) {
    const key = createSecretBox(await loadOrCreateKey(next));
    await own(next, file);
    report("A new key is made. Waiting until every process can open what it seals.");
    const can = ({ keyIds }: KeyHost): boolean => keyIds?.includes(idOfKey(key)) === true;
    await waitForHosts(rotation, can, `Copy ${next} beside the master key of each`);
    await writeWhole(previous, current, 0o600);
    await own(previous, file);
    await rename(next, file);
  }
  const [to, from] = [createSecretBox(await requireKey(file)), createSecretBox(await requireKey(previous))];
  report("Waiting until every process seals with the new key.");
  const seals = ({ keyIds }: KeyHost): boolean => keyIds?.[0] === idOfKey(to);
  await waitForHosts(rotation, seals, `Copy ${file} and ${previous} to each`);
  await sleep(SETTLE_MS);
  const resealed = await resealAll(db, { from, to });
  await rm(previous, { force: true });
  return { resealed };
}

async function requireKey(path: string): Promise<Buffer> {
  const key = await readKey(path);
  if (key === undefined) throw new RotationHeldUp(`There is no key in ${path}. Start the service once: it makes one.`);
  return key;
}

/** The service's user has to read what root may have written. */
async function own(path: string, like: string): Promise<void> {
  const { uid, gid } = await stat(like);
  if (process.getuid?.() === 0) await chown(path, uid, gid);
}

async function waitForHosts(
  { db, hostsTimeoutMs = HOSTS_TIMEOUT_MS }: Rotation,
  isReady: (host: KeyHost) => boolean,
  advice: string,
): Promise<void> {
  for (const deadline = performance.now() + hostsTimeoutMs; ; await sleep(LOOK_EVERY_MS)) {
    const waiting = (await listKeyHosts(db)).filter((host) => !isReady(host));
    if (waiting.length === 0) return;
    if (performance.now() < deadline) continue;
    const names = waiting.map(({ hostId }) => hostId).join(", ");
    throw new RotationHeldUp(
      `These hosts do not have the new key: ${names}. ${advice} (mode 0600), and run this command again. Until then, everything goes on with both keys.`,
    );
  }
}

async function resealAll(db: Db, { from, to }: { from: SecretBox; to: SecretBox }): Promise<Rotated["resealed"]> {
  const counts: Record<string, number> = {};
  for (const column of SEALED_COLUMNS) {
    for (let after: string | null = null; ; ) {
      const rows = await listSealed(db, column, { after, limit: ROWS_AT_ONCE });
      for (const { id, context, sealed } of rows) {
        if (opens(to, sealed, context)) continue;
        await replaceSealed(db, column, { id, before: sealed, after: to.seal(from.open(sealed, context), context) });
        counts[column.table] = (counts[column.table] ?? 0) + 1;
      }
      const last = rows.at(-1);
      if (last === undefined || rows.length < ROWS_AT_ONCE) break;
      after = last.id;
    }
  }
  return counts;
}

function opens(box: SecretBox, sealed: Buffer, context: string): boolean {
  try {
    box.open(sealed, context);
    return true;
  } catch {
    return false;
  }
}
