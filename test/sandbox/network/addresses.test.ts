import { execFileSync } from "node:child_process";
import { expect, test } from "@jest/globals";
import { parseRange } from "../../../domain/address-ranges.ts";
import { createOwnRangesReader } from "../../../sandbox/network/addresses.ts";
import { PROGRAMS } from "./bench.ts";

const byFirst = (one: { first: number }, other: { first: number }) => one.first - other.first;

function read(routes: string) {
  return createOwnRangesReader({ protectedHosts: [], readRoutes: async () => routes })();
}

test("own ranges are those that the ip program finds in the kernel's local table", async () => {
  const local = execFileSync(PROGRAMS.ip, ["-4", "-json", "route", "show", "table", "local"], { encoding: "utf8" });
  const expected = (JSON.parse(local || "[]") as { dst: string }[]).map(({ dst }) => parseRange(dst));
  const own = await createOwnRangesReader({ protectedHosts: [] })();
  expect([...own].sort(byFirst)).toEqual([...expected].sort(byFirst));
  expect(own).toContainEqual(parseRange("127.0.0.0/8"));
});

test("own ranges are local, broadcast and anycast ones of every table, each once, and no way to others", async () => {
  const routes = [
    "Main:",
    "  +-- 0.0.0.0/0 3 0 5",
    "     |-- 0.0.0.0",
    "        /0 universe UNICAST",
    "     +-- 198.51.100.0/24 2 0 2",
    "        |-- 198.51.100.0",
    "           /24 link UNICAST",
    "           /28 link UNICAST tos=0x10",
    "        |-- 198.51.100.9",
    "           /32 host LOCAL",
    "        |-- 198.51.100.255",
    "           /32 link BROADCAST",
    "        |-- 198.51.100.128",
    "           /25 universe BLACKHOLE",
    "Id 200:",
    "     |-- 203.0.113.0",
    "        /25 host LOCAL tos=0x08",
    "        /24 host ANYCAST",
    "Local:",
    "        |-- 198.51.100.9",
    "           /32 host LOCAL",
    "",
  ];
  const own = await read(routes.join("\n"));
  expect(own).toEqual(
    ["198.51.100.9/32", "198.51.100.255/32", "203.0.113.0/25", "203.0.113.0/24"].map((range) => parseRange(range)),
  );
});

test.each(["", "no table\n", "/32 host LOCAL\n"])("what is no table, %j, is not taken for no address", async (text) => {
  await expect(read(text)).rejects.toThrow(/holds no table of routes/);
});
