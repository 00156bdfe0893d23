import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { runCommand } from "../../src/setup/servers/command.ts";

/** The folders in `programs/`: each is a `main.py` that takes one text and makes one. */
export type ProgramName = "hello" | "fib" | "pandas";

/** What every peer gets, so that all of them run the same programs with the same interpreter. */
export interface Setting {
  readonly interpreter: string;
  /** Where `install` has put this peer's packages. */
  readonly folder: string;
  /** Where this peer keeps its data; empty at the first start of a run. */
  readonly dataDir: string;
  /** Packages for the program `pandas`. */
  readonly packages: string;
}

/** Returns the text that a run has answered. It may fetch it, so call it when the clock has stopped. */
export type ReadAnswer = () => Promise<string>;

/** Makes an engine hold finished executions, or published workflows, of the numbers `from` to `to`. */
export type Filling = Readonly<Record<"executions" | "workflows", (from: number, to: number) => Promise<void>>>;

export interface RunningPeer {
  /** The process under which all of the peer's processes are; none where the peer is the caller's own shell. */
  readonly pid: number | undefined;
  /** Runs a program to its end. */
  call(program: ProgramName, value: string): Promise<ReadAnswer>;
  /** Publishes a program anew and returns what calls it; only where publishing is a step of its own. */
  publish?(program: ProgramName): Promise<(value: string) => Promise<ReadAnswer>>;
  /** Returns what the peer itself says of each call since it was last asked: milliseconds of each stage. */
  takeStages?(): Readonly<Record<string, readonly number[]>>;
  /** Only where how cost grows is measured. */
  readonly filling?: Filling;
  stop(): Promise<void>;
}

/** One engine to measure: a file in `adapters/` that exports it as `peer`. */
export interface Peer {
  readonly name: string;
  readonly version: string;
  /** What keeps a program from the engine and from other programs. */
  readonly isolation: string;
  /** Where a run is on disk before it is answered. */
  readonly record: string;
  /** Names of its engine's own processes, as `/proc` has them. */
  readonly engine?: RegExp;
  /** Puts its packages into an empty folder. */
  install?(folder: string, interpreter: string): Promise<void>;
  start(setting: Setting): Promise<RunningPeer>;
}

/** The bare command for a program: `python3 main.py value`. */
export function commandOf(setting: Setting, program: ProgramName, value: string) {
  const main = fileURLToPath(new URL(`./programs/${program}/main.py`, import.meta.url));
  const env = { PATH: "/usr/bin:/bin", ...(program === "pandas" ? { PYTHONPATH: setting.packages } : {}) };
  return { file: setting.interpreter, args: [main, value], env };
}

/** Runs a program as a child and returns what it has printed: what each Node.js peer does within its engine. */
export async function runProgram(setting: Setting, program: ProgramName, value: string): Promise<string> {
  const { file, args, env } = commandOf(setting, program, value);
  const child = spawn(file, args, { env, stdio: ["ignore", "pipe", "inherit"] });
  let text = "";
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
  const [code] = (await once(child, "close")) as [number | null];
  if (code !== 0) throw new Error(`${program} ended with ${code}.`);
  return text.trim();
}

/** Runs a command of an installation to its end, without the scripts and the statistics of what it installs. */
export async function install(file: string, args: readonly string[], cwd: string): Promise<void> {
  const { code, tail } = await runCommand(file, [...args], { cwd, env: { ...process.env, DO_NOT_TRACK: "1" } });
  if (code !== 0) throw new Error(`${file} ${args.join(" ")}: ${tail.slice(-3).join(" ")}`);
}
