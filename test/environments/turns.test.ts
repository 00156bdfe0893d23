import { copyFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "@jest/globals";
import type { AccountId } from "../../domain/ids.ts";
import { createSharedTurn } from "../../environments/shared-turn.ts";
import { createSlots } from "../../system/slots.ts";
import { aFolder, anIndex, findUv, lockOf, onlyFrom, someEnvironments } from "./machine.ts";

const BUSY = "acct_busy" as AccountId;
const STRANGER = "acct_stranger" as AccountId;
const SHARING = "acct_sharing" as AccountId;

/**
 * A uv that downloads nothing for these environments while the file at `holdPath` is there. The uv that it calls is in the
 * index: that folder is before every step of a build.
 */
function aHeldUv(keys: readonly string[], { index, holdPath }: { index: string; holdPath: string }): string {
  copyFileSync(findUv().path, join(index, "uv"));
  const path = join(aFolder(), "uv");
  const held = keys.map((key) => `*${key}*`).join("|");
  const script = `#!/bin/sh\ncase "$*" in ${held}) while [ -e ${holdPath} ]; do sleep 0.05; done;; esac\nexec ${index}/uv "$@"\n`;
  writeFileSync(path, script, { mode: 0o755 });
  return path;
}

test("ensure, while builds of one account take its turns, builds for another, and what the other needs too", async () => {
  const index = anIndex({ name: "one" }, { name: "two" }, { name: "three" }, { name: "other" });
  const env = onlyFrom(index);
  const locks = [];
  for (const name of ["one", "two", "three", "other"]) locks.push(await lockOf(someEnvironments({ env }), name));
  const [one, two, three, other] = locks as [
    (typeof locks)[0],
    (typeof locks)[0],
    (typeof locks)[0],
    (typeof locks)[0],
  ];
  const holdPath = join(aFolder(), "hold");
  writeFileSync(holdPath, "", { mode: 0o644 });
  const environments = someEnvironments({ env, uv: { path: aHeldUv([one.key, two.key], { index, holdPath }) } });
  const said: string[] = [];
  let ended = 0;
  const ensure = ({ key, lock }: typeof one, accountId: AccountId) =>
    environments.ensure(key, lock, { accountId, report: (line) => said.push(line) }).finally(() => (ended += 1));
  const count = (words: RegExp): number => said.filter((line) => words.test(line)).length;

  const held = [ensure(one, BUSY), ensure(two, BUSY)];
  while (count(/Downloading/) < 2) await sleep(20);
  const waiting = ensure(three, BUSY);
  while (count(/Waiting for other builds: number 1 in the queue/) < 1) await sleep(20);

  await ensure(other, STRANGER);
  expect([ended, environments.builds]).toEqual([1, [other.key]]);
  await Promise.all([ensure(three, SHARING), waiting]);
  expect(environments.builds).toEqual([other.key, three.key]);
  rmSync(holdPath);
  await Promise.all(held);
});

test("a shared turn begins with the first account's, and leaves no place behind in the queue", async () => {
  const slots = createSlots({ count: 1 });
  const [first, second] = [
    await slots.take({ accountId: BUSY, id: "a" }),
    await slots.take({ accountId: SHARING, id: "b" }),
  ];
  const turn = createSharedTurn(slots, "shared");
  turn.join(BUSY);
  const taking = turn.take();
  turn.join(STRANGER);
  turn.join(STRANGER);
  expect([slots.waiting(BUSY), slots.waiting(STRANGER)]).toEqual([1, 1]);
  second?.();
  const end = await taking;
  expect([slots.waiting(), slots.placeOf("shared")]).toEqual([0, undefined]);
  end();
  first?.();
  expect(await slots.take({ accountId: BUSY, id: "c" })).toBeDefined();
});
