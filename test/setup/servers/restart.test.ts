import { expect, test } from "@jest/globals";
import type { Child, ChildEnd } from "../../../src/setup/servers/child.ts";
import { superviseServer } from "../../../src/setup/servers/restart.ts";

function aChild(pid: number): { child: Child; crash: () => void } {
  let finish: (end: ChildEnd) => void = () => {};
  const exited = new Promise<ChildEnd>((resolve) => {
    finish = resolve;
  });
  const crash = () => finish({ code: undefined, signal: "SIGSEGV" });
  const child: Child = {
    name: "server",
    pid,
    exited,
    end: () => undefined,
    tail: () => ["last words"],
    stop: async () => {
      finish({ code: 0, signal: undefined });
      return exited;
    },
  };
  return { child, crash };
}

/** A supervised server whose every start is a child that the test can make crash; waiting takes no time but is written down. */
async function aServer(
  options: { failStarts?: number[]; clock?: () => number; wait?: (signal: AbortSignal) => Promise<void> } = {},
) {
  const starts: { child: Child; crash: () => void }[] = [];
  const pauses: number[] = [];
  const reports: string[] = [];
  const server = await superviseServer({
    name: "Server",
    start: async () => {
      const started = aChild(starts.length + 1);
      starts.push(started);
      if (options.failStarts?.includes(starts.length)) throw new Error("cannot start");
      return started.child;
    },
    stopGraceMs: 100,
    report: (line) => reports.push(line),
    now: options.clock ?? (() => 0),
    wait: async (milliseconds, signal) => {
      pauses.push(milliseconds);
      await (options.wait?.(signal) ?? Promise.resolve());
    },
  });
  return { server, starts, pauses, reports };
}

const settle = () => new Promise((resolve) => setTimeout(resolve, 5));

test("superviseServer, when the server crashes five times within a minute, starts it four times again and then gives up", async () => {
  const { server, starts, pauses, reports } = await aServer();
  for (let crash = 0; crash < 5; crash += 1) {
    starts.at(-1)?.crash();
    await settle();
  }
  expect(starts).toHaveLength(5);
  expect(pauses).toEqual([500, 1000, 2000, 4000]);
  expect(reports[0]).toContain("Server ended unexpectedly (SIGSEGV). It last said: last words");
  expect((await server.exited).message).toContain("5 times within a minute");
  expect(server.pid()).toBeUndefined();
  await server.stop();
});

test("superviseServer, when crashes are rare, never gives up and begins with a short pause each time", async () => {
  let minutes = 0;
  const { server, starts, pauses } = await aServer({ clock: () => (minutes += 2) * 60_000 });
  for (let crash = 0; crash < 8; crash += 1) {
    starts.at(-1)?.crash();
    await settle();
  }
  expect(pauses).toEqual(Array(8).fill(500));
  expect(server.pid()).toBe(9);
  await server.stop();
});

test("superviseServer, when starting again fails, counts that as a crash", async () => {
  const { server, starts, pauses } = await aServer({ failStarts: [2, 3, 4, 5] });
  starts[0]?.crash();
  expect((await server.exited).message).toContain("cannot start");
  expect(pauses).toEqual([500, 1000, 2000, 4000]);
});

test("superviseServer, when the first start fails, rejects and does not try again", async () => {
  await expect(aServer({ failStarts: [1] })).rejects.toThrow("cannot start");
});

test("superviseServer, when stopped during a pause, starts nothing more and does not report a failure", async () => {
  const { server, starts } = await aServer({
    wait: (signal) =>
      new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(new Error("aborted")))),
  });
  starts[0]?.crash();
  await settle();
  await Promise.all([server.stop(), server.stop()]);
  expect(starts).toHaveLength(1);
  expect(await Promise.race([server.exited, settle().then(() => "silent")])).toBe("silent");
});
