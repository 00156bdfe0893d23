import { expect, test } from "@jest/globals";
import { queryRows } from "../../db/connect.ts";
import { loadSettings } from "../../src/config.ts";
import { runCommand } from "../../src/setup/servers/command.ts";
import { boundAccounts } from "../../src/start/account-bound.ts";
import { anAccount } from "../support/builders.ts";
import { aFileDatabase } from "../support/file-database.ts";

/** In memory: half as large as the machine's, as a rule. */
const SMALL_DISK = "/dev/shm";
const STORE = "s3://files?region=eu-west-1";
/** Other programs may write there between two looks. */
const NEARLY = 64 * 1024 ** 2;

const { db } = await aFileDatabase();

const boundOf = async (env: Record<string, string>): Promise<number> =>
  (await boundAccounts(loadSettings(env), { db, env, storageDir: SMALL_DISK })).TREADLE_ACCOUNT_STORAGE_BYTES_MAX;

async function askFreeBytes(): Promise<number> {
  const { stdout } = await runCommand("df", ["--block-size=1", "--output=avail", SMALL_DISK], { env: process.env });
  return Number(stdout.split("\n")[1]);
}

test("an account, on a disk of the service's own, keeps at most half of what it has for all, unless its operator says how much", async () => {
  const half = ((await askFreeBytes()) - 256 * 1024 ** 2) / 2;
  const expectNearly = (bytes: number, due: number) =>
    expect(Math.abs(bytes - Math.min(50e9, due))).toBeLessThan(NEARLY);
  expectNearly(await boundOf({}), half);
  expectNearly(await boundOf({ TREADLE_ACCOUNT_STORAGE_BYTES_MAX: "" }), half);
  expect(await boundOf({ TREADLE_ACCOUNT_STORAGE_BYTES_MAX: "70000000000" })).toBe(70e9);
  expect(await boundOf({ TREADLE_ACCOUNT_STORAGE_BYTES_MAX: "0" })).toBe(0);
  // What is kept there is not free, and counts all the same: the bound is the same at the next start.
  const accountId = await anAccount(db);
  await queryRows(db, "update accounts set kept_bytes = 1000000000 where id = :accountId", { accountId });
  expectNearly(await boundOf({}), half + 0.5e9);
});

test("an account, whose files a store keeps, may keep what it may", async () => {
  expect(await boundOf({ TREADLE_STORAGE_URL: STORE })).toBe(50e9);
});
