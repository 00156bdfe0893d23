import { expect, test } from "@jest/globals";
import { toDuration, toRelative } from "../../../web/src/app/time-text.ts";

const NOW = new Date("2026-11-21T12:00:00Z");

test.each([
  [0, "just now"],
  [-59, "just now"],
  [20, "in a moment"],
  [-60, "1 minute ago"],
  [-7_000, "2 hours ago"],
  [-90_000, "25 hours ago"],
  [3 * 86_400, "in 3 days"],
  [-40 * 86_400, "1 month ago"],
])("toRelative, of a time %i seconds from now, says %s", (seconds, words) => {
  expect(toRelative(new Date(NOW.getTime() + seconds * 1000), NOW)).toBe(words);
});

test.each([
  [0, "0 s"],
  [0.0004, "1 ms"],
  [0.4211, "421 ms"],
  [4.211, "4.21 s"],
  [12.34, "12.3 s"],
  [30, "30 s"],
  [60, "1 min"],
  [185, "3 min 5 s"],
  [3_600, "1 h"],
  [3_720, "1 h 2 min"],
])("toDuration, of %d seconds, says %s", (seconds, words) => {
  expect(toDuration(seconds)).toBe(words);
});
