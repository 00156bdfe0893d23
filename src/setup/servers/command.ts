import { type OutputStream, type RunAs, superviseChild } from "./child.ts";

const OUTPUT_CHARACTERS_MAX = 64_000;
const STOP_GRACE_MS = 2_000;

export interface CommandOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd?: string;
  readonly runAs?: RunAs | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number;
  readonly onLine?: (stream: OutputStream, line: string) => void;
}

export interface CommandResult {
  /** Zero is success; undefined when a signal ended it. */
  readonly code: number | undefined;
  /** The first 64,000 characters. */
  readonly stdout: string;
  /** The last lines of both streams, for a message about a failure. */
  readonly tail: readonly string[];
}

/** Runs a program to its end. What the ladders take as an argument, so that tests can put their own in its place. */
export type RunCommand = (command: string, args: readonly string[], options: CommandOptions) => Promise<CommandResult>;

/**
 * Runs a program that dies with this process. A failure is a result, not an exception: `code` is 127 when there is no
 * such program. Aborting, and the time limit, stop it; then `code` is undefined.
 */
export const runCommand: RunCommand = async (command, args, options) => {
  let stdout = "";
  const child = superviseChild({
    name: command,
    command,
    args,
    cwd: options.cwd,
    env: options.env,
    runAs: options.runAs,
    onLine: (stream, line) => {
      if (stream === "stdout" && stdout.length < OUTPUT_CHARACTERS_MAX) stdout += `${line}\n`;
      options.onLine?.(stream, line);
    },
  });
  const stop = () => void child.stop({ graceMs: STOP_GRACE_MS });
  const timer = options.timeoutMs === undefined ? undefined : setTimeout(stop, options.timeoutMs);
  options.signal?.addEventListener("abort", stop, { once: true });
  if (options.signal?.aborted) stop();
  try {
    const { code } = await child.exited;
    return { code, stdout, tail: child.tail() };
  } finally {
    clearTimeout(timer);
    options.signal?.removeEventListener("abort", stop);
  }
};
