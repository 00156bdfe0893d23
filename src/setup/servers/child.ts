import { type ChildProcess, spawn } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { withTimeout } from "../../../system/with-timeout.ts";

const TAIL_LINES_MAX = 40;
const LINE_CHARACTERS_MAX = 4_000;
/** How long the output of an ended program may still arrive; a grandchild can hold the pipe open for ever. */
const LAST_OUTPUT_MS = 300;
const KILL_GRACE_MS = 1_000;

/**
 * The parent-death pipe. The shell becomes the server itself (`exec`), so that pid, signals and exit code are the
 * server's own. Before that it leaves a watcher behind that reads our end of standard input. Nobody ever writes there,
 * so the read ends when this process closes it or dies in any way. The watcher is an orphan on purpose (two subshells):
 * PostgreSQL would take the end of an unknown child of its own for a crash. It belongs to the server's process group,
 * so the kernel gives that number to no other process while it waits. It ends the last processes of the group.
 */
const SCRIPT = `
exec 3<&0 </dev/null
server=$$
ask=$1 insist=$2
shift 2
( (
  exec <&3 3<&- >/dev/null 2>&1
  read -r never
  if kill -s "$ask" "$server"; then
    seconds=0
    while [ $seconds -lt 8 ] && kill -0 "$server"; do sleep 1; seconds=$((seconds + 1)); done
    if kill -s "$insist" "$server"; then sleep 3; fi
  fi
  kill -s KILL -- "-$server"
) & )
exec "$@" 3<&-
`;

export interface RunAs {
  readonly uid: number;
  readonly gid: number;
}

export type OutputStream = "stdout" | "stderr";

export interface ChildEnd {
  /** The exit code; undefined when a signal ended it. 126 and 127 are the shell's words for "cannot be executed" and "not found". */
  readonly code: number | undefined;
  readonly signal: NodeJS.Signals | undefined;
}

export interface ChildOptions {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  /** Defaults to `/`, where every user may be. */
  readonly cwd?: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly runAs?: RunAs | undefined;
  readonly onLine?: ((stream: OutputStream, line: string) => void) | undefined;
  /** The signal that asks it to end; SIGTERM unless given. */
  readonly stopSignal?: NodeJS.Signals;
  /** What follows when asking did not help, a second before SIGKILL; SIGKILL unless given. */
  readonly insistSignal?: NodeJS.Signals;
}

export interface Child {
  readonly name: string;
  /** The pid of the program itself; undefined when it could not be started. */
  readonly pid: number | undefined;
  readonly exited: Promise<ChildEnd>;
  /** How it ended, or undefined while it lives. */
  end(): ChildEnd | undefined;
  /** The last lines it wrote, both streams together. */
  tail(): readonly string[];
  /** Asks, and after `graceMs` insists. Any number of calls end it once; all get the same answer. */
  stop(options: { graceMs: number }): Promise<ChildEnd>;
}

/**
 * Starts a program that never outlives this process: it gets the signal to stop within a moment even when this process
 * is killed with SIGKILL. It has its own session, so a Ctrl-C in the terminal reaches us alone and we decide the order
 * of stopping. Works for root (`runAs`: spawn's uid and gid) and for ordinary users; needs nothing but `/bin/sh`.
 */
export function superviseChild(options: ChildOptions): Child {
  const stopSignal = options.stopSignal ?? "SIGTERM";
  const insistSignal = options.insistSignal ?? "SIGKILL";
  const names = [stopSignal, insistSignal].map((signal) => signal.slice("SIG".length));
  const tail: string[] = [];
  let end: ChildEnd | undefined;
  let stopping: Promise<ChildEnd> | undefined;

  const child = spawn("/bin/sh", ["-c", SCRIPT, options.name, ...names, options.command, ...options.args], {
    cwd: options.cwd ?? "/",
    env: { ...options.env, PATH: options.env.PATH ?? "/usr/local/bin:/usr/bin:/bin" },
    stdio: ["pipe", "pipe", "pipe"],
    detached: true,
    ...options.runAs,
  });
  child.stdin.on("error", () => {}); // nothing is ever written; its end shows at 'exit'
  readLines(child.stdout, "stdout");
  readLines(child.stderr, "stderr");
  const exited = waitForEnd(child, keepLine).then((reached) => {
    end = reached;
    return reached;
  });

  function readLines(stream: Readable, name: OutputStream): void {
    createInterface({ input: stream }).on("line", (line) => {
      keepLine(line.slice(0, LINE_CHARACTERS_MAX));
      options.onLine?.(name, line.slice(0, LINE_CHARACTERS_MAX));
    });
  }

  function keepLine(line: string): void {
    tail.push(line);
    if (tail.length > TAIL_LINES_MAX) tail.shift();
  }

  async function stopOnce(graceMs: number): Promise<ChildEnd> {
    child.kill(stopSignal);
    await withTimeout(exited, graceMs, () => void child.kill(insistSignal));
    if (insistSignal !== "SIGKILL") await withTimeout(exited, KILL_GRACE_MS, () => void child.kill("SIGKILL"));
    return exited;
  }

  return {
    name: options.name,
    pid: child.pid,
    exited,
    end: () => end,
    tail: () => tail,
    stop: ({ graceMs }) => (stopping ??= stopOnce(graceMs)),
  };
}

/** Resolves when the process has ended and its last output, if it comes soon, has been read. Never rejects. */
async function waitForEnd(child: ChildProcess, keepLine: (line: string) => void): Promise<ChildEnd> {
  const closed = once(child, "close").catch(() => {});
  const ended = new EventEmitter();
  child.once("exit", (code, signal) => ended.emit("end", { code: code ?? undefined, signal: signal ?? undefined }));
  child.once("error", (error) => {
    if (child.pid !== undefined) return; // a failed kill, not a failed start
    keepLine(error.message);
    ended.emit("end", { code: 127, signal: undefined });
  });
  const [reached] = (await once(ended, "end")) as [ChildEnd];
  await withTimeout(closed, LAST_OUTPUT_MS, () => undefined);
  child.stdout?.destroy();
  child.stderr?.destroy();
  return reached;
}
