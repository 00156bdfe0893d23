import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { RunAs } from "./child.ts";
import type { RunCommand } from "./command.ts";
import { type GuardedEntry, portOf } from "./temporal-proxy.ts";

/** Handed over as text: the server's user need not be able to read the checkout. */
const PROGRAM = readFileSync(fileURLToPath(new URL("./temporal-enclosure.py", import.meta.url)), "utf8");
const PROBE_TIMEOUT_MS = 30_000;

/** The namespace of the server's own, and the one way in. */
export interface Enclosure {
  /** An interpreter that the server's user can execute. */
  readonly python: string;
  /** Where the proxy listens, on loopback, and whom it lets in. */
  readonly entry: GuardedEntry;
}

interface Started {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
}

/**
 * Returns why the server cannot have a network of its own here; undefined when it can. Tries it, as the user that the server
 * would run as.
 */
export async function findEnclosureProblem(options: {
  readonly python: string | undefined;
  readonly runAs: RunAs | undefined;
  readonly run: RunCommand;
  readonly signal: AbortSignal | undefined;
}): Promise<string | undefined> {
  const { python, runAs, run, signal } = options;
  if (python === undefined) return "there is no Python to make it with";
  const args = ["-I", "-S", "-c", PROGRAM, "0", "0", "0"];
  const { code, tail } = await run(python, args, { env: {}, runAs, signal, timeoutMs: PROBE_TIMEOUT_MS });
  return code === 0 ? undefined : (tail.at(-1) ?? `it ended with code ${code}`);
}

/** Returns what to say of the ports of our own Temporal: `problem` is why they are the host's. */
export function describePorts(problem: string | undefined): { ok: boolean; message: string } {
  if (problem === undefined)
    return { ok: true, message: "Only this service reaches Temporal: by a certificate made at its start." };
  return {
    ok: false,
    message: `Every program on this machine reaches Temporal, and can end executions: its ports cannot have a network of their own (${problem}). Allow user namespaces to Python, run nothing else here, or use a cluster with TLS (TEMPORAL_ADDRESS).`,
  };
}

/** Returns what starts the server behind its proxy, with its own ports inside. The process that is started becomes the server. */
export function enclose(server: Started, { python, entry }: Enclosure, ports: { grpc: number; ui: number }): Started {
  const { ca, proxy } = entry.certificates;
  const ends = [portOf(entry.address), ports.grpc, ports.ui].map(String);
  return {
    command: python,
    args: ["-I", "-S", "-c", PROGRAM, ...ends, server.command, ...server.args],
    env: { ...server.env, TEMPORAL_PROXY: JSON.stringify({ ca, ...proxy }) },
  };
}
