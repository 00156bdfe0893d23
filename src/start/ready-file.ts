import { rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { writeWhole } from "../../system/whole-file.ts";

const ASK_AGAIN_MS = 1_000;

/** What `ready.json` tells scripts and the command line, while the service can take calls. */
export interface ReadyFile {
  readonly url: string;
  readonly apiUrl: string;
  /** For who is on this machine: where the service listens itself, and a name that its certificate has. */
  readonly local: { readonly url: string; readonly serverName: string | null };
  readonly caFile: string;
  readonly temporalUiUrl: string | null;
  /** As whom to sign in first. Without a password: the user has chosen another one. Null: that user was removed. */
  readonly signIn: { readonly email: string; readonly password: string | null } | null;
  /** By the folder name of the example. */
  readonly workflows: Readonly<Record<string, { readonly workflowId: string; readonly apiKey: string }>>;
  readonly pid: number;
}

export function readyFileOf(dataDir: string): string {
  return join(dataDir, "ready.json");
}

/** Writes it for the service's user alone, because it holds keys. Returns its path. */
export async function writeReadyFile(dataDir: string, content: ReadyFile): Promise<string> {
  const path = readyFileOf(dataDir);
  await writeWhole(path, `${JSON.stringify(content, null, 2)}\n`, 0o600);
  return path;
}

/**
 * Writes it as soon as the service is ready, which on a busy machine may not be the first time it is asked. Resolves after
 * that first time, with what takes the file away again.
 */
export async function announceWhenReady(deps: {
  readonly dataDir: string;
  readonly content: ReadyFile;
  readonly isReady: () => Promise<boolean>;
  /** Called when it took more than the first time, and when the file could not be written. */
  readonly onLate: (error: unknown) => void;
  readonly askAgainMs?: number;
}): Promise<() => Promise<void>> {
  const { dataDir, content, isReady, onLate, askAgainMs = ASK_AGAIN_MS } = deps;
  const stopped = new AbortController();
  const announce = async (): Promise<boolean> => {
    const ready = await isReady();
    if (ready && !stopped.signal.aborted) await writeReadyFile(dataDir, content);
    return ready;
  };
  const announceLate = async (): Promise<void> => {
    try {
      do await sleep(askAgainMs, undefined, { signal: stopped.signal });
      while (!(await announce()));
      onLate(undefined);
    } catch (error) {
      if (!stopped.signal.aborted) onLate(error);
    }
  };
  const announced = (await announce()) ? undefined : announceLate();
  return async () => {
    stopped.abort();
    await announced;
    await removeReadyFile(dataDir);
  };
}

export async function removeReadyFile(dataDir: string): Promise<void> {
  await rm(readyFileOf(dataDir), { force: true });
}
