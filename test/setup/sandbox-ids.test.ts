import { expect, test } from "@jest/globals";
import { chooseSandboxIds, type IdFiles, readIdFiles } from "../../src/setup/sandbox-ids.ts";

const FILES: IdFiles = {
  subuid: "ada:100000:65536\n",
  subgid: "ada:200000:65536\n",
  passwd: "root:x:0:0:root:/root:/bin/sh\nada:x:1000:1000::/home/ada:/bin/sh\n",
  group: "root:x:0:\nada:x:1000:\n",
  uidMap: "         0          0 4294967295\n",
  gidMap: "         0          0 4294967295\n",
};
const SERVICE = { name: "treadle", uid: 990, isRoot: true, dataDir: "/var/lib/treadle/one" };
const ADA = { name: "ada", uid: 1000, isRoot: false, dataDir: "/home/ada/data" };

test("chooseSandboxIds, for a user with subordinate ids, by name or by number, takes those", () => {
  const expected = { firstId: 100_000, firstGroupId: 200_000, count: 65_536, source: "subordinate" };
  expect(chooseSandboxIds(FILES, ADA)).toEqual(expected);
  const byNumber = { ...FILES, subuid: "1000:100000:65536", subgid: "other:7:7\n1000:200000:100000" };
  expect(chooseSandboxIds(byNumber, ADA)).toEqual(expected);
  expect(chooseSandboxIds(FILES, { ...ADA, isRoot: true })).toEqual(expected);
});

test("chooseSandboxIds, for an ordinary user without subordinate users or groups, or with very few, finds none", () => {
  expect(chooseSandboxIds({ ...FILES, subuid: "" }, ADA)).toBeUndefined();
  expect(chooseSandboxIds({ ...FILES, subgid: "somebody:1:65536" }, ADA)).toBeUndefined();
  expect(chooseSandboxIds({ ...FILES, subuid: "ada:100000:100" }, ADA)).toBeUndefined();
  expect(chooseSandboxIds({ ...FILES, subuid: "garbage\nada:x:y\n" }, ADA)).toBeUndefined();
});

test("chooseSandboxIds, for root, gives each data folder a range of its own that nobody has", () => {
  const one = chooseSandboxIds(FILES, SERVICE);
  const two = chooseSandboxIds(FILES, { ...SERVICE, dataDir: "/var/lib/treadle/two" });
  expect(one).toMatchObject({ count: 65_536, source: "root" });
  expect(one?.firstId).toBeGreaterThanOrEqual(0x7000_0000);
  expect(one?.firstGroupId).toBe(one?.firstId);
  expect(two?.firstId).not.toBe(one?.firstId);
  expect(chooseSandboxIds(FILES, SERVICE)).toEqual(one);
});

test("chooseSandboxIds, for root, avoids what somebody has already", () => {
  const { firstId = 0 } = chooseSandboxIds(FILES, SERVICE) ?? {};
  for (const taken of [
    { passwd: `x:x:${firstId + 5}:1::/:/bin/sh\n` },
    { group: `x:x:${firstId + 65_535}:\n` },
    { subuid: `x:${firstId - 100}:101\n` },
    { subgid: `x:${firstId}:1\n` },
  ])
    expect(chooseSandboxIds({ ...FILES, ...taken }, SERVICE)?.firstId).toBe(firstId + 65_536);
});

test("chooseSandboxIds, for root of a container with few ids, takes some of those, and none where they do not exist", () => {
  const small = "0 1000 1\n1 100000 65536\n";
  expect(chooseSandboxIds({ ...FILES, uidMap: small, gidMap: small }, SERVICE)).toEqual({
    firstId: 32_768,
    firstGroupId: 32_768,
    count: 16_384,
    source: "root",
  });
  expect(chooseSandboxIds({ ...FILES, uidMap: "0 1000 1\n" }, SERVICE)).toBeUndefined();
});

test("readIdFiles reads what this machine says", async () => {
  const files = await readIdFiles();
  expect(files.passwd).toContain("root:");
  expect(files.uidMap.trim()).toMatch(/^0\s/);
});
