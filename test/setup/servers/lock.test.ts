import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "@jest/globals";
import { claimLock, waitForLock } from "../../../src/setup/servers/lock.ts";
import { isRunning, readStartTime } from "../../../src/setup/servers/process-identity.ts";
import { aFolder, afterwards, until } from "./surroundings.ts";

function aStranger(): number {
  const stranger = spawn("/bin/sleep", ["60"]);
  afterwards(() => stranger.kill("SIGKILL"));
  return stranger.pid ?? 0;
}

test("claimLock, when twenty ask at once, gives it to one", async () => {
  const path = join(aFolder(), "lock");
  const claims = await Promise.all(Array.from({ length: 20 }, () => claimLock(path)));
  expect(claims.filter((claim) => claim.kind === "claimed")).toHaveLength(1);
  expect(claims.filter((claim) => claim.kind === "held" && claim.pid === process.pid)).toHaveLength(19);
  expect(readdirSync(join(path, ".."))).toEqual(["lock"]);
});

test("claimLock, when a living process holds it, names that process until it is gone", async () => {
  const path = join(aFolder(), "lock");
  const pid = aStranger();
  writeFileSync(path, JSON.stringify({ pid, startedAt: await readStartTime(pid) }));
  expect(await claimLock(path)).toEqual({ kind: "held", pid });
  process.kill(pid, "SIGKILL");
  await until("the holder has ended", async () => !(await isRunning(pid)));
  expect((await claimLock(path)).kind).toBe("claimed");
});

test("claimLock, when the holder's pid now belongs to another process, takes it over", async () => {
  const path = join(aFolder(), "lock");
  writeFileSync(path, JSON.stringify({ pid: aStranger(), startedAt: "12" }));
  expect((await claimLock(path)).kind).toBe("claimed");
});

test("claimLock, when the holder was killed but its parent has not collected it, takes it over", async () => {
  const path = join(aFolder(), "lock");
  // The shell becomes a program that never collects the child it inherited.
  const parent = spawn("/bin/sh", ["-c", "sleep 60 & echo $!; exec sleep 60"], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  afterwards(() => parent.kill("SIGKILL"));
  const [line] = (await once(parent.stdout, "data")) as [Buffer];
  const pid = Number(line);
  writeFileSync(path, JSON.stringify({ pid, startedAt: await readStartTime(pid) }));
  expect(await claimLock(path)).toEqual({ kind: "held", pid });
  process.kill(pid, "SIGKILL");
  await until("it waits to be collected", () => /\) Z /.test(readFileSync(`/proc/${pid}/stat`, "latin1")));
  expect((await claimLock(path)).kind).toBe("claimed");
});

test("claimLock, when the file is not a lock, takes it over", async () => {
  const path = join(aFolder(), "lock");
  writeFileSync(path, "garbage");
  expect((await claimLock(path)).kind).toBe("claimed");
});

test("waitForLock, when another holds it, tells whom it waits for and goes on when it is free", async () => {
  const path = join(aFolder(), "lock");
  const first = await waitForLock(path, { onWait: () => {} });
  const waits: number[] = [];
  let isFree = false;
  const second = waitForLock(path, { onWait: (pid) => waits.push(pid) }).then((release) => {
    expect(isFree).toBe(true);
    return release;
  });
  await sleep(400);
  isFree = true;
  await first();
  await (await second)();
  expect(waits).toEqual([process.pid]);
  expect(existsSync(path)).toBe(false);
});
