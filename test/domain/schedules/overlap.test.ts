import { expect, test } from "@jest/globals";
import type { ExecutionId } from "../../../domain/ids.ts";
import { OVERLAPS } from "../../../domain/manifest/manifest.ts";
import { decideOverlap, QUEUED_TICKS_MAX } from "../../../domain/schedules/overlap.ts";

const ONE = ["ex_1" as ExecutionId];
const TWO = ["ex_1" as ExecutionId, "ex_2" as ExecutionId];

test.each(OVERLAPS)("decideOverlap, %s with nothing under way, starts", (overlap) => {
  expect(decideOverlap(overlap, { executions: [], queuedCount: 0 })).toEqual({ kind: "start" });
});

test.each([
  ["skip", { kind: "skip" }],
  ["queue", { kind: "queue" }],
  ["allow", { kind: "start" }],
  ["cancel_previous", { kind: "cancel", executions: TWO }],
] as const)("decideOverlap, %s with executions under way, decides %j", (overlap, expected) => {
  expect(decideOverlap(overlap, { executions: TWO, queuedCount: 0 })).toEqual(expected);
});

test.each([
  ["skip", { kind: "skip" }],
  ["queue", { kind: "queue" }],
  ["allow", { kind: "start" }],
  ["cancel_previous", { kind: "cancel", executions: [] }],
] as const)("decideOverlap, %s with only queued ticks, does not overtake them: %j", (overlap, expected) => {
  expect(decideOverlap(overlap, { executions: [], queuedCount: 1 })).toEqual(expected);
});

test("decideOverlap, queue when it is full, skips", () => {
  expect(decideOverlap("queue", { executions: ONE, queuedCount: QUEUED_TICKS_MAX - 1 })).toEqual({ kind: "queue" });
  expect(decideOverlap("queue", { executions: ONE, queuedCount: QUEUED_TICKS_MAX })).toEqual({ kind: "skip" });
});
