import { randomBytes } from "node:crypto";
import { link, readFile, rename, rm, writeFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { isRunning, readStartTime } from "./process-identity.ts";

const TAKEOVER_ATTEMPTS_MAX = 20;
const POLL_MS = 250;

interface Owner {
  readonly pid: number;
  readonly startedAt: string;
}

export type LockClaim =
  | { readonly kind: "claimed"; readonly release: () => Promise<void> }
  | { readonly kind: "held"; readonly pid: number };

/**
 * Takes the lock at `path` (a file naming our process), or says who has it. The lock of a process that is gone, also
 * when its pid has been given to another, counts for nothing. The file appears with its content in one act (`link`),
 * so nobody reads half a lock.
 */
export async function claimLock(path: string): Promise<LockClaim> {
  const us: Owner = { pid: process.pid, startedAt: await readStartTime(process.pid) };
  const draft = `${path}.${randomBytes(6).toString("hex")}`;
  await writeFile(draft, JSON.stringify(us), { mode: 0o644, flag: "wx" });
  try {
    for (let attempt = 0; attempt < TAKEOVER_ATTEMPTS_MAX; attempt += 1) {
      if (await createdBy(link(draft, path))) return { kind: "claimed", release: () => rm(path, { force: true }) };
      const owner = await readOwner(path);
      if (owner !== undefined && (await isOwnerAlive(owner))) return { kind: "held", pid: owner.pid };
      await setAside(path, owner);
    }
    throw new Error(
      `The lock ${path} changes hands all the time. Delete it if no Treadle is running, and start again.`,
    );
  } finally {
    await rm(draft, { force: true });
  }
}

/** Returns whether a living process holds the lock at `path`. Writes nothing. */
export async function isLockHeld(path: string): Promise<boolean> {
  const owner = await readOwner(path);
  return owner !== undefined && (await isOwnerAlive(owner));
}

/**
 * Takes the lock at `path`, waiting as long as another living process holds it. `onWait` is called once with the
 * process we wait for.
 */
export async function waitForLock(
  path: string,
  options: { signal?: AbortSignal | undefined; onWait: (pid: number) => void },
): Promise<() => Promise<void>> {
  let told = false;
  for (;;) {
    const claim = await claimLock(path);
    if (claim.kind === "claimed") return claim.release;
    if (!told) options.onWait(claim.pid);
    told = true;
    await sleep(POLL_MS, undefined, { signal: options.signal });
  }
}

async function createdBy(linked: Promise<void>): Promise<boolean> {
  try {
    await linked;
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

async function readOwner(path: string): Promise<Owner | undefined> {
  try {
    const parsed = JSON.parse(await readFile(path, "utf8")) as Partial<Owner>;
    return typeof parsed.pid === "number" && typeof parsed.startedAt === "string"
      ? { pid: parsed.pid, startedAt: parsed.startedAt }
      : undefined;
  } catch {
    return undefined; // gone in between, or not ours: both mean that nobody holds it
  }
}

async function isOwnerAlive(owner: Owner): Promise<boolean> {
  return (await isRunning(owner.pid)) && (await readStartTime(owner.pid)) === owner.startedAt;
}

/** Removes a dead owner's lock. When another process was quicker and its fresh lock got moved, it is put back. */
async function setAside(path: string, dead: Owner | undefined): Promise<void> {
  const aside = `${path}.${randomBytes(6).toString("hex")}`;
  const moved = await rename(path, aside).then(
    () => true,
    () => false,
  );
  if (!moved) return;
  const owner = await readOwner(aside);
  if (owner !== undefined && (owner.pid !== dead?.pid || owner.startedAt !== dead.startedAt)) {
    await link(aside, path).catch(() => {});
  }
  await rm(aside, { force: true });
}
