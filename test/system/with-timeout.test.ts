import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "@jest/globals";
import { withTimeout } from "../../system/with-timeout.ts";

const NEVER = new Promise<never>(() => undefined);

test("a promise with a time-out, when it settles in time, settles the same way and never calls onTimeout", async () => {
  const late: string[] = [];
  expect(await withTimeout(Promise.resolve("in time"), 5, () => late.push("resolved"))).toBe("in time");
  const failing = withTimeout(Promise.reject(new Error("broken")), 5, () => late.push("rejected"));
  await expect(failing).rejects.toThrow("broken");
  await sleep(20);
  expect(late).toEqual([]);
});

test("a promise with a time-out, when it is late, gives what onTimeout returns or throws", async () => {
  expect(await withTimeout(NEVER, 1, () => "late")).toBe("late");
  expect(await withTimeout(NEVER, 1, async () => "later")).toBe("later");
  const failing = withTimeout(NEVER, 1, () => {
    throw new Error("too late");
  });
  await expect(failing).rejects.toThrow("too late");
});
