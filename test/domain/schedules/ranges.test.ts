import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { toRanges } from "../../../domain/schedules/ranges.ts";

test.each([
  [[5], ["5"]],
  [[1, 2, 3, 4, 5], ["1-5"]],
  [[0, 15, 30, 45], ["0-45/15"]],
  [[0, 30], ["0-30/30"]],
  [
    [1, 2, 3, 10, 20, 30],
    ["1-3", "10-30/10"],
  ],
  [
    [0, 1, 2, 3, 4, 5, 10, 15, 20],
    ["0-5", "10-20/5"],
  ],
])("toRanges, of %j, are %j", (values, expected) => {
  const texts = toRanges(values).map(({ start, end, step }) =>
    start === end ? `${start}` : `${start}-${end}${step === 1 ? "" : `/${step}`}`,
  );
  expect(texts).toEqual(expected);
});

test("toRanges, of any values, hold these and no others", () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.integer({ min: 0, max: 59 }), { minLength: 1, maxLength: 60 }), (list) => {
      const values = list.toSorted((one, other) => one - other);
      const held = new Set<number>();
      const ranges = toRanges(values);
      for (const { start, end, step } of ranges) {
        for (let value = start; value <= end; value += step) held.add(value);
        expect((end - start) % step).toBe(0);
      }
      expect([...held].toSorted((one, other) => one - other)).toEqual(values);
      expect(ranges.length).toBeLessThanOrEqual(Math.ceil(values.length / 2));
    }),
    { numRuns: 300, seed: 6 },
  );
});
