import { expect, test } from "@jest/globals";
import { syncEarly } from "../../system/early-sync.ts";

const MIB = 1024 * 1024;

/** A file whose syncs end when the test says so. */
function createFile() {
  const syncs: { resolve: () => void; reject: (error: Error) => void }[] = [];
  const file = { datasync: () => new Promise<void>((resolve, reject) => void syncs.push({ resolve, reject })) };
  return { file, syncs };
}

test("a file is synced every 64 MiB, never twice at a time, and a small one not at all", async () => {
  const { file, syncs } = createFile();
  const sync = syncEarly(file);
  for (let mebibytes = 1; mebibytes <= 63; mebibytes += 1) sync.note(MIB);
  await sync.settle();
  expect(syncs).toHaveLength(0);
  sync.note(MIB);
  expect(syncs).toHaveLength(1);
  sync.note(100 * MIB);
  expect(syncs).toHaveLength(1);
  syncs[0]?.resolve();
  await sync.settle();
  sync.note(1);
  expect(syncs).toHaveLength(2);
});

test("a sync that failed is told, although a later one succeeded", async () => {
  const { file, syncs } = createFile();
  const sync = syncEarly(file);
  sync.note(64 * MIB);
  syncs[0]?.reject(new Error("The disk is broken."));
  await new Promise(setImmediate);
  sync.note(64 * MIB);
  syncs[1]?.resolve();
  await expect(sync.settle()).rejects.toThrow("The disk is broken.");
});
