import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import type { Socket } from "node:net";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { withTimeout } from "../../system/with-timeout.ts";
import type { User } from "../input-files.ts";
import { HELPER_PROGRAM } from "./helper-program.ts";

/** Python starts in milliseconds. Without a bound a machine that cannot run it would keep the service from starting. */
const START_TIMEOUT_MS = 10_000;
const SAID_MAX = 2_000;

/** The helper as a process of ours; see `helper-program.ts`. */
export interface NamespaceHelper {
  readonly pid: number;
  /** Rejects when the helper refuses, or ends. */
  ask(operation: string, request: Readonly<Record<string, unknown>>): Promise<unknown>;
  /** Resolves with what it last said. */
  readonly ended: Promise<string>;
  close(): Promise<void>;
}

/** Nothing is known of what was asked last; another helper may be asked. */
export class HelperEndedError extends Error {}

interface Waiter {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
}

/**
 * Starts a helper, as `runAs` where we are root: in a new namespace, whose map `giveMap` writes, or in that of a
 * descriptor. It ends when we do, however we end.
 */
export async function startHelper(
  { python, runAs }: { readonly python: string; readonly runAs: User | undefined },
  place: { readonly giveMap: (pid: number) => Promise<void> } | { readonly namespace: number },
): Promise<NamespaceHelper> {
  const isNew = "giveMap" in place;
  const args = ["-I", "-S", "-B", "-c", HELPER_PROGRAM, isNew ? "make" : "join"];
  const stdio = ["pipe", "pipe", "pipe", isNew ? "ignore" : place.namespace] as const;
  // A Ctrl-C in the terminal is for the service alone, which ends this in its turn.
  const child = spawn(python, args, { stdio: [...stdio], env: {}, cwd: "/", detached: true, ...runAs });
  let said = "";
  child.stderr?.on("data", (chunk: Buffer) => (said = (said + chunk.toString("utf8")).slice(-SAID_MAX)));
  const ended = once(child, "close").then(
    () => said.trim().split("\n").at(-1) ?? "",
    (error: Error) => error.message,
  );
  const input = child.stdin as Writable;
  input.on("error", () => undefined); // It ended; all waiting calls get that.
  const lines = createInterface({ input: child.stdout as Readable });
  const nextLine = async (wanted: string): Promise<void> => {
    const next = Promise.race([once(lines, "line").then(([text]: string[]) => text), ended.then(() => undefined)]);
    const line = await withTimeout(next, START_TIMEOUT_MS, () => void child.kill("SIGKILL"));
    if (line !== wanted) throw new Error(`The helper process of sandboxes' users could not be started: ${await ended}`);
  };
  try {
    if (isNew) {
      await nextLine("made");
      await place.giveMap(child.pid as number);
      input.write("go\n");
    }
    await nextLine("ready");
  } catch (error) {
    child.kill("SIGKILL");
    await ended;
    throw error;
  }
  return follow(child, { input, lines, ended });
}

function follow(
  child: ChildProcess,
  parts: {
    readonly input: Writable;
    readonly lines: ReturnType<typeof createInterface>;
    readonly ended: Promise<string>;
  },
): NamespaceHelper {
  const { input, lines, ended } = parts;
  const waiting = new Map<number, Waiter>();
  let asked = 0;
  let hasEnded = false;
  lines.on("line", (line) => {
    const { id, value, error } = JSON.parse(line) as { id: number; value?: unknown; error?: string };
    const waiter = waiting.get(id);
    waiting.delete(id);
    if (waiting.size === 0) answers.unref();
    if (error === undefined) waiter?.resolve(value);
    else waiter?.reject(new Error(`The helper process of sandboxes' users could not: ${error}`));
  });
  void ended.then(() => {
    hasEnded = true;
    for (const { reject } of waiting.values())
      reject(new HelperEndedError("The helper process of sandboxes' users has ended."));
    waiting.clear();
  });
  child.unref();
  for (const stream of child.stdio) (stream as Socket | null)?.unref();
  const answers = child.stdout as Socket;
  return {
    pid: child.pid as number,
    ask: (operation, request) =>
      new Promise((resolve, reject) => {
        if (hasEnded) return reject(new HelperEndedError("The helper process of sandboxes' users has ended."));
        const id = ++asked;
        waiting.set(id, { resolve, reject });
        answers.ref(); // A waiting call keeps this process from ending.
        input.write(`${JSON.stringify({ id, op: operation, ...request })}\n`);
      }),
    ended,
    async close() {
      if (hasEnded) return;
      child.ref();
      input.end();
      await ended;
    },
  };
}
