import { type ChildProcess, spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { type Agent, request } from "undici";
import { CHECKOUT, PROGRAM } from "./checkout.ts";

const LOOK_MS = 100;
const ANSWER_MAX_MS = 3_000;
/** Between taking calls and saying so, a service publishes its examples: the first time, with packages to be built. */
const ANNOUNCED_WITHIN_MS = { first: 600_000, later: 30_000 };

/** One start of the service. */
export interface ServiceProcess {
  readonly pid: number | undefined;
  hasEnded(): boolean;
  /** Resolves with how it ended. */
  readonly ended: Promise<string>;
  /** Resolves when it takes calls; `unannounced` when its data dir does not say so; undefined when it ended before. */
  readonly up: Promise<"ready" | "unannounced" | undefined>;
}

/** Starts the service as a user does. What it prints goes to `log`. */
export function startProcess(options: {
  readonly dataDir: string;
  readonly url: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly log: Writable;
  readonly agent: () => Promise<Agent>;
  readonly isFirst: boolean;
  /** Whether its data folder says that it is up. */
  readonly saysSo: boolean;
}): ServiceProcess {
  const child = spawn(process.execPath, [PROGRAM, "start"], {
    cwd: CHECKOUT,
    env: options.env,
    stdio: ["ignore", "pipe", "pipe"],
  });
  for (const stream of [child.stdout, child.stderr]) stream.pipe(options.log, { end: false });
  const patienceMs = options.isFirst ? ANNOUNCED_WITHIN_MS.first : ANNOUNCED_WITHIN_MS.later;
  const waitUntilUp = async (): Promise<"ready" | "unannounced" | undefined> => {
    let takingSince: number | undefined;
    for (; !hasEnded(child); await sleep(LOOK_MS)) {
      if (!(await isTakingCalls(options))) continue;
      takingSince ??= Date.now();
      if (!options.saysSo || (await isAnnounced(options.dataDir, child.pid))) return "ready";
      if (Date.now() - takingSince > patienceMs) return "unannounced";
    }
    return undefined;
  };
  return {
    pid: child.pid,
    hasEnded: () => hasEnded(child),
    ended: new Promise((resolve) => child.once("exit", (code, signal) => resolve(signal ?? `code ${code}`))),
    up: waitUntilUp(),
  };
}

async function isAnnounced(dataDir: string, pid: number | undefined): Promise<boolean> {
  const text = await readFile(join(dataDir, "ready.json"), "utf8").catch(() => "{}");
  return (JSON.parse(text) as { pid?: number }).pid === pid;
}

async function isTakingCalls({ url, agent }: { url: string; agent: () => Promise<Agent> }): Promise<boolean> {
  try {
    const answer = await request(`${url}/readyz`, { dispatcher: await agent(), headersTimeout: ANSWER_MAX_MS });
    await answer.body.dump();
    return answer.statusCode === 200;
  } catch {
    return false; // It does not listen yet, or is in trouble: it is asked again.
  }
}

function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}
