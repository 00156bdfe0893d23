import { statfsSync } from "node:fs";
import { expect, test } from "@jest/globals";
import { loadSettings } from "../../src/config.ts";
import { boundAccounts } from "../../src/start/account-bound.ts";

/** In memory: half as large as the machine's, as a rule. */
const SMALL_DISK = "/dev/shm";
const STORE = "s3://files?region=eu-west-1";

const boundOf = (env: Record<string, string>): number =>
  boundAccounts(loadSettings(env), { env, storageDir: SMALL_DISK }).TREADLE_ACCOUNT_STORAGE_BYTES_MAX;

test("an account, on a disk of the service's own, keeps at most half of it, unless its operator says how much", () => {
  const { blocks, bsize } = statfsSync(SMALL_DISK);
  const half = Math.min(50e9, Math.floor((blocks * bsize) / 2));
  expect(boundOf({})).toBe(half);
  expect(boundOf({ TREADLE_ACCOUNT_STORAGE_BYTES_MAX: "" })).toBe(half);
  expect(boundOf({ TREADLE_ACCOUNT_STORAGE_BYTES_MAX: "70000000000" })).toBe(70e9);
  expect(boundOf({ TREADLE_ACCOUNT_STORAGE_BYTES_MAX: "0" })).toBe(0);
});

test("an account, whose files a store keeps, may keep what it may", () => {
  expect(boundOf({ TREADLE_STORAGE_URL: STORE })).toBe(50e9);
});
