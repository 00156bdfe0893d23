import { spawn } from "node:child_process";
import { linkSync, mkdirSync, readdirSync, readFileSync, readlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "@jest/globals";
import { createWorkFolder, removeLeftovers, waitForLease } from "../../environments/build-lease.ts";
import { withTimeout } from "../../system/with-timeout.ts";
import { aFolder } from "./machine.ts";

const never = async () => false;
const bootId = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
const here = `${bootId} ${readlinkSync("/proc/self/ns/pid")}`;

/** A work folder with a lock, as another process would have left it. */
function leaveBehind(
  dir: string,
  name: string,
  owner: { system: string; pid: number; startedAt: string },
  silentForMs = 0,
): void {
  const folder = join(dir, `${name}.abc`);
  mkdirSync(folder);
  writeFileSync(join(folder, "owner.json"), JSON.stringify(owner));
  linkSync(join(folder, "owner.json"), join(dir, `${name}.lock`));
  const at = new Date(Date.now() - silentForMs);
  for (const path of [join(folder, "owner.json"), folder]) utimesSync(path, at, at);
}

/** Whether the lease can be had at once, or within a while in which it would not become free by itself. */
async function isFree(dir: string, name: string, withinMs = 10_000): Promise<boolean> {
  const work = await createWorkFolder(dir, name);
  const release = await withTimeout(waitForLease(dir, name, work, never), withinMs, () => undefined);
  await release?.();
  await work.remove();
  return release !== undefined;
}

test("waitForLease, taken by somebody alive, waits until it is released", async () => {
  const dir = aFolder();
  const [one, two] = [await createWorkFolder(dir, "x"), await createWorkFolder(dir, "x")];
  const release = await waitForLease(dir, "x", one, never);
  let isTaken = false;
  const second = waitForLease(dir, "x", two, never).then((free) => {
    isTaken = true;
    return free;
  });
  await sleep(500);
  expect(isTaken).toBe(false);
  await release?.();
  await (await second)?.();
  await Promise.all([one.remove(), two.remove()]);
  expect(readdirSync(dir)).toEqual([]);
});

test("waitForLease, the work is done meanwhile, answers undefined and holds nothing", async () => {
  const dir = aFolder();
  const [one, two] = [await createWorkFolder(dir, "x"), await createWorkFolder(dir, "x")];
  const release = await waitForLease(dir, "x", one, never);
  let isDone = false;
  const second = waitForLease(dir, "x", two, async () => isDone);
  isDone = true;
  expect(await second).toBeUndefined();
  await release?.();
  expect(await waitForLease(dir, "x", two, async () => isDone)).toBeUndefined();
  await Promise.all([one.remove(), two.remove()]);
  expect(readdirSync(dir)).toEqual([]);
});

test("waitForLease, twenty at once after the holder died, gives it to one after the other", async () => {
  const dir = aFolder();
  leaveBehind(dir, "x", { system: here, pid: 999_999_999, startedAt: "1" });
  let holders = 0;
  let most = 0;
  await Promise.all(
    Array.from({ length: 20 }, async () => {
      const work = await createWorkFolder(dir, "x");
      const release = await waitForLease(dir, "x", work, never);
      holders += 1;
      most = Math.max(most, holders);
      await sleep(5);
      holders -= 1;
      await release?.();
      await work.remove();
    }),
  );
  expect(most).toBe(1);
});

test("waitForLease, the holder's pid belongs to another process now, takes the lock over", async () => {
  const dir = aFolder();
  leaveBehind(dir, "x", { system: here, pid: process.pid, startedAt: "1" });
  expect(await isFree(dir, "x")).toBe(true);
});

test("waitForLease, the holder was killed and nobody has taken note, takes the lock over", async () => {
  const dir = aFolder();
  // A shell that never waits for its child leaves it a zombie.
  const parent = spawn("/bin/sh", ["-c", "sleep 0.1 & echo $!; exec sleep 20"], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  const pid = Number(await new Promise((resolve) => parent.stdout.once("data", resolve)));
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  leaveBehind(dir, "x", { system: here, pid, startedAt: stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? "" });
  expect(await isFree(dir, "y")).toBe(true);
  while (!readFileSync(`/proc/${pid}/stat`, "utf8").includes(") Z ")) await sleep(20);
  expect(await isFree(dir, "x")).toBe(true);
  parent.kill("SIGKILL");
});

test("waitForLease, the holder lives in another container, waits for its silence", async () => {
  const dir = aFolder();
  const elsewhere = { system: `${bootId} pid:[1]`, pid: 7, startedAt: "1" };
  leaveBehind(dir, "speaking", elsewhere, 5_000);
  leaveBehind(dir, "silent", elsewhere, 25_000);
  expect(await isFree(dir, "speaking", 700)).toBe(false);
  expect(await isFree(dir, "silent")).toBe(true);
});

test("removeLeftovers, folders of the dead and of the living, removes those of the dead", async () => {
  const dir = aFolder();
  const living = await createWorkFolder(dir, "living");
  leaveBehind(dir, "dead", { system: here, pid: 999_999_999, startedAt: "1" });
  leaveBehind(dir, "elsewhere", { system: "other pid:[1]", pid: 7, startedAt: "1" }, 1_000);
  leaveBehind(dir, "silent", { system: "other pid:[1]", pid: 7, startedAt: "1" }, 30_000);
  mkdirSync(join(dir, "new.abc"));
  mkdirSync(join(dir, "removed.abc"));
  await removeLeftovers(dir);
  expect(readdirSync(dir).map((name) => name.split(".")[0])).toEqual(
    expect.arrayContaining(["living", "elsewhere", "new"]),
  );
  expect(readdirSync(dir).filter((name) => /dead|silent|removed/.test(name))).toEqual([]);
  await living.remove();
});
