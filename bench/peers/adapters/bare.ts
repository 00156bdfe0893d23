import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface, type Interface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { commandOf, type Peer, type ProgramName, type Setting } from "../peer.ts";

/** Reads the packages' folder, a program and its value, runs it, and says that it has ended. */
const LOOP = `while read -r packages interpreter main value; do
  if [ "$packages" = - ]; then unset PYTHONPATH; else export PYTHONPATH="$packages"; fi
  "$interpreter" "$main" "$value"
  echo "ended $?"
done`;

interface Shell {
  readonly child: ChildProcessByStdio<Writable, Readable, null>;
  readonly lines: Interface;
}

/** Returns a shell's answer to `python3 main.py value`. */
async function runIn({ child, lines }: Shell, setting: Setting, program: ProgramName, value: string): Promise<string> {
  const { file, args, env } = commandOf(setting, program, value);
  const printed: string[] = [];
  const ended = new Promise<string>((resolve) => {
    const read = (line: string): void => {
      if (!line.startsWith("ended ")) return void printed.push(line);
      lines.off("line", read);
      resolve(line);
    };
    lines.on("line", read);
  });
  child.stdin.write(`${env.PYTHONPATH ?? "-"} ${file} ${args.join(" ")}\n`);
  if ((await ended) !== "ended 0") throw new Error(`${program}: ${await ended}`);
  return printed.join("\n").trim();
}

/** `python3 main.py`, as a shell starts it: what every figure is a multiple of. A shell for each call under way. */
export const peer: Peer = {
  name: "bare python3",
  version: "",
  isolation: "none: a fresh process",
  record: "nowhere",
  async start(setting) {
    const shells: Shell[] = [];
    const idle: Shell[] = [];
    const open = (): Shell => {
      const env = { PATH: "/usr/bin:/bin" };
      const child = spawn("/bin/sh", ["-c", LOOP], { env, stdio: ["pipe", "pipe", "inherit"] });
      const shell = { child, lines: createInterface(child.stdout) };
      shells.push(shell);
      return shell;
    };
    return {
      pid: undefined,
      async call(program, value) {
        const shell = idle.pop() ?? open();
        const answer = await runIn(shell, setting, program, value);
        idle.push(shell);
        return async () => answer;
      },
      async stop() {
        for (const { child } of shells) {
          child.stdin.end();
          if (child.exitCode === null) await once(child, "exit");
        }
      },
    };
  },
};
