import { expect, test } from "@jest/globals";
import { joinDateTime, splitDateTime, writeOffset } from "../../../web/src/form/date-time-text.ts";

test.each([
  ["2026-05-01T09:30:00+02:00", "2026-05-01T09:30:00", "+02:00"],
  ["2026-05-01T09:30Z", "2026-05-01T09:30", "Z"],
  ["2026-05-01T09:30:00.123456", "2026-05-01T09:30:00.123456", ""],
  ["", "", ""],
])(
  "splitDateTime, of %s, takes the clock's reading and its zone apart, and they join to the same",
  (text, local, offset) => {
    expect(splitDateTime(text)).toEqual({ local, offset });
    expect(joinDateTime({ local, offset })).toBe(text);
  },
);

test("joinDateTime, of a zone without a reading, is nothing", () => {
  expect(joinDateTime({ local: "", offset: "Z" })).toBe("");
});

test.each([
  [0, "+00:00"],
  [330, "+05:30"],
  [-210, "-03:30"],
])("writeOffset, of %i minutes east, writes %s", (minutes, text) => {
  expect(writeOffset(minutes)).toBe(text);
});
