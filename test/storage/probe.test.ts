import { Readable } from "node:stream";
import { expect, test } from "@jest/globals";
import { probeStorage } from "../../storage/probe.ts";
import type { PutResult } from "../../storage/storage.ts";

const stored: PutResult = { bytes: 32, sha256: "" };

test("probeStorage, of a storage that gives back other bytes, says so and deletes the probe", async () => {
  const deleted: string[] = [];
  const storage = {
    put: async () => stored,
    get: async () => Readable.from([Buffer.alloc(32)]),
    delete: async (key: string) => void deleted.push(key),
  };
  await expect(probeStorage(storage, "The bucket x")).rejects.toThrow(
    "The bucket x gave back other bytes than were stored.",
  );
  expect(deleted).toEqual([expect.stringMatching(/^probes\/[0-9a-f]{24}$/)]);
});

test("probeStorage, of a storage that hangs, rejects after a second and aborts what it began", async () => {
  let aborted = false;
  const storage = {
    put: (_key: string, _content: Readable, options?: { signal?: AbortSignal }) =>
      new Promise<PutResult>(() => options?.signal?.addEventListener("abort", () => (aborted = true))),
    get: async () => Readable.from([]),
    delete: async () => undefined,
  };
  await expect(probeStorage(storage, "The folder x")).rejects.toThrow("The folder x did not answer within 1000 ms.");
  expect(aborted).toBe(true);
});
