import { expect, test } from "@jest/globals";
import { loadSettings } from "../../src/config.ts";
import { refusingMax } from "../../src/http/server/connections.ts";
import { budgetDescriptors, readDescriptorLimit } from "../../src/start/descriptors.ts";

const SETTINGS = loadSettings({ TREADLE_SANDBOX_SLOTS: "4" });

test("budgetDescriptors, with files enough, allows the connections of the setting, of one address half at most", () => {
  expect(budgetDescriptors(SETTINGS, 1_000_000)).toEqual({
    max: 12_000,
    perAddressMax: 6_000,
    ok: true,
    message: "Up to 12000 connections; the process may have 1000000 files open.",
  });
  expect(budgetDescriptors(loadSettings({ TREADLE_CONNECTIONS_MAX: "100" }), 1_000_000)).toMatchObject({
    max: 100,
    perAddressMax: 50,
    ok: true,
  });
});

test.each([500, 1_024, 4_096, 16_000])(
  "budgetDescriptors, with %d files, leaves a quarter of what programs and lanes do not need, and says what to do",
  (limit) => {
    const { max, perAddressMax, ok, message } = budgetDescriptors(SETTINGS, limit);
    const left = limit - 141 - 16 * 6 - 4 * 16;
    expect(max + refusingMax(max)).toBeLessThanOrEqual(left * 0.75);
    expect(max + 2 + refusingMax(max + 2)).toBeGreaterThan(left * 0.75);
    expect([perAddressMax, ok]).toEqual([Math.floor(max / 2), limit >= 1_024]);
    expect(message).toMatch(
      new RegExp(
        `^Up to ${max} connections instead of 12000 .TREADLE_CONNECTIONS_MAX.: the process may have ${limit} files open. Allow it 17901: LimitNOFILE=`,
      ),
    );
  },
);

test("budgetDescriptors, with too few files for a single program, refuses and names the limit that would do", () => {
  expect(() => budgetDescriptors(SETTINGS, 256)).toThrow(
    /^The process may have 256 files open and needs 333 or more: 301 for itself, .* Allow it 17901: .*TREADLE_LANES_MAX/,
  );
  expect(budgetDescriptors(SETTINGS, 333).max).toBe(16);
  expect(budgetDescriptors(loadSettings({ TREADLE_ROLE: "api" }), 256).max).toBeGreaterThan(16);
});

test("readDescriptorLimit, reads the limit of this process", async () => {
  expect(await readDescriptorLimit()).toBeGreaterThan(100);
});
