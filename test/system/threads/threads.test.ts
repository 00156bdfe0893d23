import { readdirSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "@jest/globals";
import { createThreads, OverBudgetError, ThreadsBusyError } from "../../../system/threads/threads.ts";
import { watchLoop } from "../../support/loop-watch.ts";
import { ADD_UP, FAIL, HOARD, NEVER_END, WAIT } from "./tasks.ts";

const budget = (owner = "acct_a", timeoutMs = 60_000) => ({ owner, timeoutMs });

describe("threads", () => {
  test("run, with a function of ours, returns its result, and again on the same thread", async () => {
    const threads = createThreads({ threadsMax: 1 });
    expect(await threads.run(ADD_UP, [1, 2, 3], budget())).toBe(6);
    expect(await threads.run(ADD_UP, [4, 5], budget())).toBe(9);
  });

  test("run, when the function throws, throws its error, and the thread goes on", async () => {
    const threads = createThreads({ threadsMax: 1 });
    await expect(threads.run(FAIL, "too far", budget())).rejects.toThrow("too far");
    expect(await threads.run(ADD_UP, [1], budget())).toBe(1);
  });

  test("run, when a task never ends, ends it after its time, and the event loop does not stand", async () => {
    const threads = createThreads({ threadsMax: 1 });
    await threads.run(ADD_UP, [1], budget());
    const watch = watchLoop();
    const error = await threads.run(NEVER_END, undefined, budget("acct_a", 1_000)).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(OverBudgetError);
    expect((error as OverBudgetError).what).toBe("time");
    expect(watch.stop()).toBeLessThan(100);
    expect(await threads.run(ADD_UP, [1], budget())).toBe(1);
  });

  test("run, when a task takes all memory, ends it, and the process goes on", async () => {
    const threads = createThreads({ threadsMax: 1 });
    const error = await threads.run(HOARD, undefined, budget()).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(OverBudgetError);
    expect((error as OverBudgetError).what).toBe("memory");
    expect(await threads.run(ADD_UP, [1], budget())).toBe(1);
  });

  test("run, when one owner has many tasks waiting, gives the next turn to another owner", async () => {
    const threads = createThreads({ threadsMax: 1 });
    const ended: string[] = [];
    const run = (owner: string) => threads.run(WAIT, 20, budget(owner)).then(() => ended.push(owner));
    await Promise.all([run("a"), run("a"), run("a"), run("a"), run("b"), run("c"), run("b")]);
    expect(ended).toEqual(["a", "a", "b", "c", "a", "b", "a"]);
  });

  test("run, when one owner keeps a thread busy, leaves the other thread to others", async () => {
    const threads = createThreads({ threadsMax: 2 });
    const hogs = [1, 2, 3].map(() => threads.run(NEVER_END, undefined, budget("hog", 3_000)).catch(() => "ended"));
    let hogsEnded = false;
    void hogs[0]?.then(() => (hogsEnded = true));
    expect(await threads.run(ADD_UP, [1], budget("honest", 3_000))).toBe(1);
    expect(hogsEnded).toBe(false);
    expect(await Promise.all(hogs)).toEqual(["ended", "ended", "ended"]);
  });

  test("run, when an owner has too many waiting, refuses that owner and nobody else", async () => {
    const threads = createThreads({ threadsMax: 1 });
    const tasks = Array.from({ length: 40 }, () => threads.run(WAIT, 1, budget("a")).catch((error: unknown) => error));
    const other = threads.run(ADD_UP, [1], budget("b"));
    const refused = (await Promise.all(tasks)).filter((result) => result instanceof ThreadsBusyError);
    expect(refused.length).toBe(19);
    expect(await other).toBe(1);
  });

  test("an idle thread, after its time, ends", async () => {
    const threads = createThreads({ threadsMax: 1, idleMs: 50 });
    await threads.run(ADD_UP, [1], budget());
    const before = countThreads();
    while (countThreads() >= before) await sleep(20);
    expect(await threads.run(ADD_UP, [2], budget())).toBe(2);
  });
});

/** Of this process. */
function countThreads(): number {
  return readdirSync("/proc/self/task").length;
}
