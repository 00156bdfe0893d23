import { expect, test } from "@jest/globals";
import { chargeFor, chargeMax, microCredits, parseCredits, toCredits } from "../../domain/credits.ts";

const prices = { perCpuSecond: microCredits(10_000n), perExecution: microCredits(1_000n) };

test("chargeFor, a second of one core, costs the rate plus the fee", () => {
  expect(chargeFor({ cpu: 1, seconds: 1 }, prices)).toEqual({ compute: 10_000n, total: 11_000n });
});

test("chargeFor, a fraction of a micro-credit, rounds half up once", () => {
  const odd = { perCpuSecond: microCredits(1n), perExecution: microCredits(0n) };
  expect(chargeFor({ cpu: 0.5, seconds: 1 }, odd).compute).toBe(1n);
  expect(chargeFor({ cpu: 0.5, seconds: 0.999 }, odd).compute).toBe(0n);
});

test("chargeFor, more processor time than the seconds have of the agreed cores, counts that in their place", () => {
  expect(chargeFor({ cpu: 0.1, seconds: 5, processorSeconds: 4.4 }, prices).compute).toBe(44_000n);
  expect(chargeFor({ cpu: 1, seconds: 5, processorSeconds: 4.4 }, prices).compute).toBe(50_000n);
});

test("chargeMax, any run within its limits, is never below chargeFor", () => {
  const max = chargeMax({ cpu: 2, timeoutSeconds: 300 }, prices);
  expect(chargeFor({ cpu: 2, seconds: 300 }, prices).total).toBe(max);
  expect(chargeFor({ cpu: 2, seconds: 12.345 }, prices).total).toBeLessThan(max);
});

test("chargeMax, of a run that may take longer than a slice, is what the first slice can cost", () => {
  const hour = chargeMax({ cpu: 2, timeoutSeconds: 3_600 }, prices);
  expect(chargeMax({ cpu: 2, timeoutSeconds: 86_400 }, prices)).toBe(hour);
  expect(chargeMax({ cpu: 2, timeoutSeconds: 300 }, { ...prices, sliceSeconds: 100 })).toBe(2_001_000n);
  expect(chargeMax({ cpu: 2, timeoutSeconds: 99 }, { ...prices, sliceSeconds: 100 })).toBe(1_981_000n);
});

test("parseCredits, numbers people write, become whole micro-credits", () => {
  expect(parseCredits("12")).toBe(12_000_000n);
  expect(parseCredits("-3.000001")).toBe(-3_000_001n);
  expect(parseCredits("0.0000001")).toBeUndefined();
  expect(parseCredits("1e3")).toBeUndefined();
});

test("toCredits, an amount with micro-credits, keeps six decimals", () => {
  expect(toCredits(microCredits(11_000n))).toBe(0.011);
  expect(toCredits(microCredits(999_999_999_999_999n))).toBe(999_999_999.999999);
});
