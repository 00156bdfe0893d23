import { randomBytes } from "node:crypto";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { openKeyRing } from "../../src/keys/key-ring.ts";
import { aFolder, afterwards, until } from "./servers/surroundings.ts";

test("a key ring, while a key is put beside its own and taken away again, has that key as long as it is there", async () => {
  const file = join(aFolder(), "master");
  const ring = await openKeyRing(file, { warn: () => undefined });
  afterwards(() => ring.close());
  const [own] = ring.ids();
  writeFileSync(`${file}.next`, randomBytes(32), { mode: 0o600 });
  await until("the next key is there", () => ring.ids().length === 2, 10_000);
  expect(ring.ids()[0]).toBe(own);
  rmSync(`${file}.next`);
  await until("the next key is gone", () => ring.ids().length === 1, 10_000);
  expect(ring.ids()).toEqual([own]);
}, 30_000);
