import { spawn } from "node:child_process";
import { once } from "node:events";
import { afterAll, expect, test } from "@jest/globals";
import { sortAll, sortVictims } from "../../chaos/faults/victims.ts";
import { findProcess, isAlive, killProcess, listTree, type Process, signal } from "../../chaos/processes.ts";

const sleeper = spawn("sleep", ["600"]);

afterAll(() => {
  sleeper.kill("SIGKILL");
});

function aProcess(pid: number, parent: number, ...command: string[]): Process {
  return { pid, parent, startTime: "1", command };
}

test("sortVictims, of a service's tree, tells the part of every process by its place", () => {
  const tree = [
    aProcess(1, 0, "node", "bin/treadle", "start"),
    aProcess(2, 1, "/data/runtime/temporal-1.8.2", "server"),
    aProcess(3, 1, "/pg/bin/postgres", "-D", "/data"),
    aProcess(4, 3, "postgres: checkpointer "),
    aProcess(5, 1, "/usr/bin/bwrap", "--", "python3", "/runner/zygote.pyc", "3"),
    aProcess(6, 5, "python3.11", "/runner/zygote.pyc", "3"),
    aProcess(7, 6, "python3.11", "/runner/zygote.pyc", "3"),
    aProcess(8, 7, "python3.11", "/runner/zygote.pyc", "3"),
    aProcess(9, 1, "/usr/bin/bwrap", "--", "/usr/bin/bwrap", "--", "python3", "/runner/main.pyc", "3"),
    aProcess(10, 9, "/usr/bin/bwrap", "--", "python3", "/runner/main.pyc", "3"),
    aProcess(11, 10, "python3.11", "/runner/main.pyc", "3"),
    aProcess(12, 1, "slirp4netns", "--configure"),
    aProcess(13, 1, "cat"),
  ];
  const pids = Object.entries(sortVictims(tree)).map(([victim, found]) => [victim, found.map(({ pid }) => pid)]);
  expect(Object.fromEntries(pids)).toEqual({
    service: [1],
    temporal: [2],
    postgres: [3],
    backend: [4],
    lane: [5],
    zygote: [6],
    fork: [7],
    sandbox: [9],
    program: [11],
    router: [12, 13],
  });
});

test("sortAll, of two processes and their servers, takes those that keep the servers for no victims", () => {
  const own = [1, 11].map((pid) => [aProcess(pid, 0, "node", "bin/treadle", "start"), aProcess(pid + 1, pid, "cat")]);
  const servers = [aProcess(21, 0, "node", "servers.js"), aProcess(22, 21, "/pg/bin/postgres", "-D", "/data")];
  const { service, router, postgres } = sortAll(own, servers);
  const pids = [service, router, postgres].map((each) => each.map(({ pid }) => pid));
  expect(pids).toEqual([[1, 11], [2, 12], [22]]);
});

test("signal, for a process whose id another has by now, sends nothing", () => {
  const real = findProcess(sleeper.pid as number) as Process;
  expect(signal({ ...real, startTime: "1" }, "SIGKILL")).toBe(false);
  expect(isAlive(real)).toBe(true);
});

test("killProcess, of a living process, has ended it when it resolves, and finds nothing the second time", async () => {
  const child = spawn("sleep", ["600"]);
  const ended = once(child, "exit");
  const found = findProcess(child.pid as number) as Process;
  expect(listTree(process.pid).map(({ pid }) => pid)).toContain(found.pid);
  expect(await killProcess(found)).toBe(true);
  expect(await ended).toEqual([null, "SIGKILL"]);
  expect(await killProcess(found)).toBe(false);
});
