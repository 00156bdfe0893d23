import { execFileSync } from "node:child_process";
import { getPriority } from "node:os";
import { join } from "node:path";
import { expect, test } from "@jest/globals";

const HELPER_THREADS = join(import.meta.dirname, "../../bin/helper-threads.cjs");

/** Prints the priorities of all threads: at first, and when there are threads of files and a worker, too. */
const PROGRAM = `
const fs = require("fs"), os = require("os");
const look = () => Object.fromEntries(fs.readdirSync("/proc/self/task").map((id) => [id, os.getPriority(+id)]));
require(${JSON.stringify(HELPER_THREADS)}).lowerHelperThreads();
const first = look();
fs.readFile("/proc/self/stat", () => {
  const { Worker } = require("worker_threads");
  new Worker("require('worker_threads').parentPort.postMessage(0); setTimeout(() => {}, 1000)", { eval: true })
    .once("message", () => process.stdout.write(JSON.stringify({ pid: process.pid, first, later: look() }), () => process.exit()));
});
`;

test("lowerHelperThreads lowers those of V8 alone: not the event loop, not those of files, not a worker", () => {
  const text = execFileSync(process.execPath, ["-e", PROGRAM], { encoding: "utf8" });
  const { pid, first, later } = JSON.parse(text) as { pid: number } & Record<"first" | "later", Record<string, number>>;
  const { [pid]: own, ...helpers } = first;
  expect(own).toBe(getPriority());
  expect(Object.keys(helpers).length).toBeGreaterThanOrEqual(4);
  expect(new Set(Object.values(helpers))).toEqual(new Set([Math.max(10, getPriority())]));
  const added = Object.entries(later).filter(([id]) => !(id in first));
  expect(added.length).toBeGreaterThanOrEqual(5);
  expect(new Set(added.map(([, priority]) => priority))).toEqual(new Set([getPriority()]));
});
