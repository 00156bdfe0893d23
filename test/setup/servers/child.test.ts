import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { superviseChild } from "../../../src/setup/servers/child.ts";
import { isRunning } from "../../../src/setup/servers/process-identity.ts";
import { afterwards, HERE, IS_ROOT, NODE_ARGUMENTS, RUN_AS, until } from "./surroundings.ts";

function aShell(script: string, more: Partial<Parameters<typeof superviseChild>[0]> = {}) {
  const lines: string[] = [];
  const child = superviseChild({
    name: "shell",
    command: "/bin/sh",
    args: ["-c", script],
    env: {},
    onLine: (stream, line) => lines.push(`${stream} ${line}`),
    ...more,
  });
  afterwards(() => child.stop({ graceMs: 0 }));
  return { child, lines };
}

test("superviseChild, when the program ends by itself, tells its code and every line", async () => {
  const { child, lines } = aShell("echo out; echo err >&2; echo unfinished | tr -d '\\n'; exit 7");
  expect(await child.exited).toEqual({ code: 7, signal: undefined });
  expect(lines.sort()).toEqual(["stderr err", "stdout out", "stdout unfinished"]);
  expect([...child.tail()].sort()).toEqual(["err", "out", "unfinished"]);
  expect(child.end()).toEqual({ code: 7, signal: undefined });
});

test("superviseChild, when there is no such program, ends with code 127 and says so", async () => {
  const child = superviseChild({ name: "nothing", command: "/nowhere/nothing", args: [], env: {} });
  expect(await child.exited).toEqual({ code: 127, signal: undefined });
  expect(child.tail().join()).toContain("/nowhere/nothing");
});

test("superviseChild, when its folder does not exist, ends instead of throwing", async () => {
  const child = superviseChild({ name: "lost", command: "/bin/true", args: [], env: {}, cwd: "/nowhere" });
  expect((await child.exited).code).toBe(127);
  await child.stop({ graceMs: 10 });
});

test("superviseChild, when stopped twice, asks once and both hear the end", async () => {
  const { child, lines } = aShell(
    "trap 'echo asked; asked=1' INT; echo up; until [ $asked ]; do sleep 0.05; done; sleep 0.3; exit 3",
    { stopSignal: "SIGINT" },
  );
  await until("up", () => lines.includes("stdout up"));
  const first = child.stop({ graceMs: 5_000 });
  await until("asked", () => lines.includes("stdout asked"));
  expect(await Promise.all([first, child.stop({ graceMs: 5_000 })])).toEqual([
    { code: 3, signal: undefined },
    { code: 3, signal: undefined },
  ]);
  expect(lines.filter((line) => line === "stdout asked")).toHaveLength(1);
});

test("superviseChild, when the program ignores being asked, insists after the grace time", async () => {
  const { child, lines } = aShell("trap '' TERM; echo up; while :; do sleep 0.05; done");
  await until("up", () => lines.includes("stdout up"));
  const startedAt = Date.now();
  expect(await child.stop({ graceMs: 300 })).toEqual({ code: undefined, signal: "SIGKILL" });
  expect(Date.now() - startedAt).toBeGreaterThanOrEqual(290);
});

test("superviseChild, when the terminal sends Ctrl-C, is not in the group that gets it", async () => {
  const { child, lines } = aShell("echo up; sleep 30");
  await until("up", () => lines.includes("stdout up"));
  expect(() => process.kill(-(child.pid ?? 0), 0)).not.toThrow(); // leads a group of its own
  await child.stop({ graceMs: 5_000 });
});

test("superviseChild, when the program leaves processes of its group behind, ends them too", async () => {
  const { child, lines } = aShell("sleep 30 & echo $!; exit 0");
  await child.exited;
  const left = Number(lines[0]?.split(" ")[1]);
  expect(left).toBeGreaterThan(0);
  await until("the straggler is gone", async () => !(await isRunning(left)));
});

if (IS_ROOT) {
  test("superviseChild, when root names a user, runs as that user without root's groups", async () => {
    const { child, lines } = aShell("id -u; id -G", { runAs: RUN_AS });
    await child.exited;
    expect(lines).toEqual([`stdout ${RUN_AS?.uid}`, `stdout ${RUN_AS?.gid}`]);
  });
}

test("superviseChild, when our process is killed with SIGKILL, ends polite and stubborn programs alike", async () => {
  const parent = spawn(process.execPath, [...NODE_ARGUMENTS, join(HERE, "start-shells.ts")], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  afterwards(() => parent.kill("SIGKILL"));
  const [line] = (await once(parent.stdout, "data")) as [Buffer];
  const { polite, stubborn } = JSON.parse(String(line)) as { polite: number; stubborn: number };
  expect([await isRunning(polite), await isRunning(stubborn)]).toEqual([true, true]);
  parent.kill("SIGKILL");
  await until("the polite one is gone", async () => !(await isRunning(polite)));
  await until("the stubborn one is gone", async () => !(await isRunning(stubborn)));
});
