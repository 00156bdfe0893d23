import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { basename } from "node:path";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { withTimeout } from "../../system/with-timeout.ts";

/** These programs end in milliseconds. Without a bound one that hangs would stop all executions with a network. */
const TIMEOUT_MS = 10_000;
const OUTPUT_CHARACTERS_MAX = 4_000_000;
/** It becomes part of an error message, which is one line of the service's log. */
const COMPLAINT_CHARACTERS_MAX = 500;
/** A holder ends with its input. One that does not would keep the service from stopping. */
const CLOSE_TIMEOUT_MS = 2_000;

/** As whom, and from where, the router's programs are started. */
export interface Launcher {
  /** The unprivileged user when we are root; undefined when we are that user ourselves. */
  readonly runAs: { readonly uid: number; readonly gid: number } | undefined;
  /** Put before each command: enters the namespaces in which there is a network device to use. */
  readonly prefix: readonly string[];
}

/**
 * Runs a program to its end and answers what it wrote. Rejects when it ends with anything but 0, naming the program and
 * what it said. No shell, no environment, nothing inherited.
 */
export async function runCommand(launcher: Launcher, argv: readonly string[], input = ""): Promise<string> {
  const child = start(launcher, argv, ["pipe", "pipe", "pipe"]);
  const [stdin, stdout, stderr] = child.stdio as [Writable, Readable, Readable, ...unknown[]];
  const [output, complaint] = [collect(stdout), collect(stderr)];
  stdin.on("error", () => undefined); // It did not read to the end; its exit shows that.
  stdin.end(input);
  const ended = waitForEnd(child);
  const end = await withTimeout(ended, TIMEOUT_MS, () => {
    child.kill("SIGKILL");
    return ended;
  });
  if (end === "0") return output;
  throw new Error(explain(argv, end, await complaint));
}

/** A process that lives until it is closed or this process ends, however it ends. It does not keep the event loop alive. */
export interface Holder {
  readonly pid: number;
  /** Resolves with how it ended and what it complained of. Never rejects. */
  readonly ended: Promise<string>;
  /** Ends it and waits for that. */
  close(): Promise<void>;
}

/**
 * Starts a program that ends with its input, and waits for its first sign of life. `cat` echoes a line from the place
 * where the command before it has put it. Nobody but us holds the other end of that input, so the kernel closes it when
 * we die.
 */
export async function startHolder(launcher: Launcher, argv: readonly string[]): Promise<Holder> {
  const child = start(launcher, argv, ["pipe", "pipe", "pipe"]);
  const [stdin, stdout] = child.stdio as [Writable, Readable, ...unknown[]];
  stdin.on("error", () => undefined);
  stdin.write("\n");
  return awaitLife(child, argv, { closes: [stdin], speaks: stdout });
}

/** The same for slirp4netns, which watches descriptor 3 for its end and says on descriptor 4 that it is ready. */
export async function startWithExitPipe(launcher: Launcher, argv: readonly string[]): Promise<Holder> {
  const child = start(launcher, argv, ["ignore", "ignore", "pipe", "pipe", "pipe"]);
  const [, , , exit, ready] = child.stdio as unknown as [null, null, Readable, Writable, Readable];
  exit.on("error", () => undefined);
  return awaitLife(child, argv, { closes: [exit], speaks: ready });
}

/** A program that answers each line with a line, or with nothing where it complains. */
export interface Talker {
  /** Rejects when it ends before it answers. */
  readonly ask: (question: string) => Promise<string>;
  close(): Promise<void>;
}

/** Starts a program that answers questions. It ends with its input, and does not keep the event loop alive. */
export function startTalker(launcher: Launcher, argv: readonly string[]): Talker {
  const child = start(launcher, argv, ["pipe", "pipe", "pipe"]);
  const [stdin, stdout, stderr] = child.stdio as [Writable, Readable, Readable, ...unknown[]];
  const waiting: { readonly resolve: (answer: string) => void; readonly reject: (error: Error) => void }[] = [];
  stdin.on("error", () => undefined); // Its end shows that.
  createInterface({ input: stdout }).on("line", (answer) => waiting.shift()?.resolve(answer));
  const complaint = collect(stderr);
  const ended = waitForEnd(child).then(async (end) => {
    const error = new Error(explain(argv, end, await complaint));
    for (const { reject } of waiting.splice(0)) reject(error);
  });
  child.unref();
  for (const stream of child.stdio) (stream as { unref?(): void } | null)?.unref?.();
  return {
    ask: (question) =>
      new Promise((resolve, reject) => {
        waiting.push({ resolve, reject });
        if (child.exitCode !== null || child.signalCode !== null)
          return reject(new Error(`${basename(argv[0] ?? "")} has ended.`));
        stdin.write(`${question}\n`);
      }),
    async close() {
      stdin.destroy();
      await withTimeout(ended, CLOSE_TIMEOUT_MS, () => void child.kill("SIGKILL"));
      await ended;
    },
  };
}

async function awaitLife(
  child: ChildProcess,
  argv: readonly string[],
  { closes, speaks }: { readonly closes: readonly Writable[]; readonly speaks: Readable },
): Promise<Holder> {
  const complaint = collect(child.stdio[2] as Readable);
  const ended = waitForEnd(child).then(async (end) => explain(argv, end, await complaint));
  const holder = {
    pid: child.pid ?? 0,
    ended,
    async close() {
      for (const stream of closes) stream.destroy();
      await withTimeout(ended, CLOSE_TIMEOUT_MS, () => void child.kill("SIGKILL"));
      await ended;
    },
  };
  const alive = once(speaks, "data").then(() => undefined);
  const failure = await withTimeout(Promise.race([alive, ended]), TIMEOUT_MS, () => {
    child.kill("SIGKILL");
    return ended;
  });
  if (failure !== undefined) throw new Error(failure);
  speaks.resume();
  child.unref();
  for (const stream of child.stdio) (stream as { unref?(): void } | null)?.unref?.();
  return holder;
}

function start({ runAs, prefix }: Launcher, argv: readonly string[], stdio: ("pipe" | "ignore")[]): ChildProcess {
  const [program = "", ...args] = [...prefix, ...argv];
  // A Ctrl-C in the terminal is for the service alone, which closes these in their turn.
  return spawn(program, args, { stdio, env: {}, cwd: "/", detached: true, ...runAs });
}

/** `0`, another exit code, a signal, or why it could not be started; after its output has been closed. */
async function waitForEnd(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    child.once("error", (error) => {
      if (child.pid === undefined) resolve(error.message);
    });
    child.once("close", (code, signal) => resolve(signal ?? String(code)));
  });
}

async function collect(stream: Readable): Promise<string> {
  let text = "";
  stream.setEncoding("utf8");
  stream.on("data", (chunk: string) => {
    if (text.length < OUTPUT_CHARACTERS_MAX) text += chunk;
  });
  stream.on("error", () => undefined);
  if (!stream.closed) await once(stream, "close").catch(() => undefined);
  return text;
}

function explain(argv: readonly string[], end: string, complaint: string): string {
  const said = complaint
    .trim()
    .replaceAll(/\s*\n\s*/g, "; ")
    .slice(0, COMPLAINT_CHARACTERS_MAX);
  return `${basename(argv[0] ?? "")} ended (${end})${said === "" ? "" : `: ${said}`}`;
}
