import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterAll } from "@jest/globals";
import type { RunAs } from "../../../src/setup/servers/child.ts";
import type { CommandOptions, RunCommand } from "../../../src/setup/servers/command.ts";

export const IS_ROOT = process.getuid?.() === 0;

/** The user that servers run as in tests: `nobody` under root, ourselves otherwise. */
export const RUN_AS: RunAs | undefined = IS_ROOT ? { uid: askId("-u"), gid: askId("-g") } : undefined;

export const HERE = fileURLToPath(new URL(".", import.meta.url));

/** Arguments of `node` before a TypeScript file of this folder. */
export const NODE_ARGUMENTS = ["--import", new URL("typescript-loader.mjs", import.meta.url).href];

/** A folder that every user may enter, gone after this test file. */
export function aFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "treadle-servers-"));
  chmodSync(folder, 0o755);
  atEnd.push(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

const atEnd: (() => unknown)[] = [];

/** Registers what undoes something; the last registered comes first. Runs also when an assertion fails. */
export function afterwards(undo: () => unknown): void {
  atEnd.push(undo);
}

afterAll(async () => {
  for (const undo of atEnd.reverse()) await undo();
});

/** An executable shell script. */
export function aProgram(path: string, body: string): string {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `#!/bin/sh\n${body}\n`, { mode: 0o755 });
  return path;
}

export function aTemporalProgram(path: string, cli: string, server: string): string {
  return aProgram(path, `echo "temporal version ${cli} (Server ${server}, UI 2.50.1)"`);
}

export interface Call {
  readonly command: string;
  readonly args: readonly string[];
  readonly options: CommandOptions;
}

/** A command runner that writes down its calls and answers with what `answer` gives: lines, an exit code, or both. */
export function aRunner(answer: (call: Call) => Promise<Partial<Answer>> | Partial<Answer>): {
  run: RunCommand;
  calls: Call[];
} {
  const calls: Call[] = [];
  const run: RunCommand = async (command, args, options) => {
    const call = { command, args, options };
    calls.push(call);
    const { code = 0, stdout = "", stderr = [] } = await answer(call);
    for (const line of stderr) options.onLine?.("stderr", line);
    return { code, stdout, tail: [...stdout.split("\n"), ...stderr].filter((line) => line !== "") };
  };
  return { run, calls };
}

interface Answer {
  readonly code: number | undefined;
  readonly stdout: string;
  readonly stderr: readonly string[];
}

/** A server has 4 s to end by itself, and is killed then. The rest is for a machine that has no time. */
export const STOP_MS_MAX = 15_000;

/** Waits until it is so; throws with `what` when it is not within the time. */
export async function until(
  what: string,
  isSo: () => boolean | Promise<boolean>,
  milliseconds = 30_000,
): Promise<void> {
  const deadline = Date.now() + milliseconds;
  while (!(await isSo())) {
    if (Date.now() > deadline) throw new Error(`not within ${milliseconds} ms: ${what}`);
    await sleep(50);
  }
}

function askId(flag: string): number {
  return Number(execFileSync("id", [flag, "nobody"], { encoding: "utf8" }));
}
