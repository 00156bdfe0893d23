import { describe, expect, test } from "@jest/globals";
import { DENIED_RANGES, isWithin, mergeRanges, parseRange, toAddress } from "../../../domain/address-ranges.ts";
import { CONNECTION_LIMITS, toOwnUpdate, toRuleset } from "../../../sandbox/network/ruleset.ts";

const DENIED = DENIED_RANGES.map(parseRange);

describe("DENIED_RANGES", () => {
  test.each(
    [
      ["0.0.0.0", "0.1.2.3", "10.0.0.0", "10.255.255.255", "100.64.0.0", "100.100.100.200", "100.127.255.255"],
      ["127.0.0.1", "127.255.255.254", "169.254.0.0", "169.254.169.254", "169.254.170.2", "172.16.0.0"],
      ["172.31.255.255", "192.0.0.192", "192.0.2.1", "192.88.99.1", "192.168.0.1", "192.168.255.255"],
      ["198.18.0.0", "198.19.255.255", "198.51.100.1", "203.0.113.255", "168.63.129.16", "224.0.0.1"],
      ["239.255.255.250", "240.0.0.1", "255.255.255.255"],
    ].flat(),
  )("%s, which is not the internet, is in them", (address) => {
    expect(isWithin(DENIED, parseRange(address).first)).toBe(true);
  });

  test.each(
    [
      ["1.1.1.1", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0"],
      ["169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "192.0.1.0", "192.167.255.255"],
      ["192.169.0.0", "198.17.255.255", "198.20.0.0", "168.63.129.15", "168.63.129.17", "223.255.255.255"],
    ].flat(),
  )("%s, just beside them, is not", (address) => {
    expect(isWithin(DENIED, parseRange(address).first)).toBe(false);
  });
});

describe("ranges", () => {
  test.each([
    "",
    "10.0.0",
    "10.0.0.0.0",
    "256.0.0.1",
    "10.0.0.0/33",
    "10.0.0.0/-1",
    "10.0.0.1 }; flush ruleset",
    "::1",
    "10.0.0.1\n",
  ])("parseRange, given %j, refuses it", (text) => {
    expect(() => parseRange(text)).toThrow(/neither an IPv4 address nor a range/);
  });

  test("parseRange, given bits beyond the prefix, takes the whole range", () => {
    const { first, last } = parseRange("172.20.0.5/12");
    expect([toAddress(first), toAddress(last)]).toEqual(["172.16.0.0", "172.31.255.255"]);
  });

  test("mergeRanges, given ranges that overlap, touch or repeat, makes one of them", () => {
    const merged = mergeRanges(
      ["10.0.1.0/24", "10.0.0.0/24", "10.0.0.7", "10.0.1.0/24", "10.0.3.0/24"].map(parseRange),
    );
    expect(merged.map(({ first, last }) => `${toAddress(first)}-${toAddress(last)}`)).toEqual([
      "10.0.0.0-10.0.1.255",
      "10.0.3.0-10.0.3.255",
    ]);
  });
});

describe("rules", () => {
  const facts = { denied: DENIED, own: [], kept: [], limits: CONNECTION_LIMITS, forwardsNames: true };

  test("toRuleset, when names are not forwarded, has no way to the forwarder", () => {
    expect(toRuleset(facts)).toContain("ip daddr 10.0.2.3");
    expect(toRuleset({ ...facts, forwardsNames: false })).not.toContain("10.0.2.3");
  });

  test("toOwnUpdate, given no address, empties the sets and adds nothing", () => {
    expect(toOwnUpdate({ own: [], kept: [] })).toBe("flush set inet treadle own\nflush set inet treadle kept\n");
  });
});
