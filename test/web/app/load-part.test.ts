import { expect, test } from "@jest/globals";
import { loadPart } from "../../../web/src/app/load-part.ts";

/** A part that comes at the attempt `comesAt`, counted from 1, and a service that is there as `there` says, attempt by attempt. */
function aPart(comesAt: number, there: readonly boolean[]) {
  let attempts = 0;
  const load = async (): Promise<string> => {
    attempts += 1;
    if (attempts < comesAt) throw new Error(`attempt ${attempts} failed`);
    return "the part";
  };
  return { load, isThere: async () => there[attempts - 1] ?? true };
}

test("loadPart, of a part that the service has, is it", async () => {
  const { load, isThere } = aPart(1, []);
  expect(await loadPart(load, isThere)).toBe("the part");
});

test("loadPart, when the service is back just after it was asked, asks once more", async () => {
  const { load, isThere } = aPart(2, [true]);
  expect(await loadPart(load, isThere)).toBe("the part");
});

test("loadPart, while the service is away, goes on asking, and does not count that as missing", async () => {
  const { load, isThere } = aPart(4, [true, false, true]);
  expect(await loadPart(load, isThere)).toBe("the part");
});

test("loadPart, of a part that a service does not have any more, rejects", async () => {
  const { load, isThere } = aPart(9, [true, true]);
  await expect(loadPart(load, isThere)).rejects.toThrow("attempt 2 failed");
});
