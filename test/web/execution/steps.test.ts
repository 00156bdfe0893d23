import { expect, test } from "@jest/globals";
import { listSteps } from "../../../web/src/execution/steps.ts";

const at = (ms: number): string => new Date(Date.UTC(2026, 10, 2) + ms).toISOString();
const anAttempt = (attempt: number, startMs: number, endMs: number | null, secondsUsed: number) => ({
  attempt,
  startedAt: at(startMs),
  endedAt: endMs === null ? null : at(endMs),
  secondsUsed,
});
const names = (given: Parameters<typeof listSteps>[0]) => listSteps(given).map(({ name, ms }) => [name, ms]);

test("steps, of an execution that has ended, fill the time from its acceptance to its end", () => {
  const attempts = [anAttempt(1, 5, 1_300, 1.234)];
  expect(names({ createdAt: at(0), finishedAt: at(1_400), uploadedAt: at(1_380), attempts })).toEqual([
    ["Waiting", 5],
    ["Sandbox", 61],
    ["Program", 1_234],
    ["Storing outputs", 80],
    ["Settling", 20],
  ]);
});

test("steps, of several attempts, have each of them and the waits between, and what took no time is left out", () => {
  const attempts = [anAttempt(1, 0, 100, 0.1), anAttempt(2, 1_100, 1_200, 0.04)];
  const steps = listSteps({ createdAt: at(0), finishedAt: at(1_200), uploadedAt: null, attempts });
  expect(steps.map(({ name, attempt, ms }) => [name, attempt, ms])).toEqual([
    ["Program", 1, 100],
    ["Waiting", null, 1_000],
    ["Sandbox", 2, 60],
    ["Program", 2, 40],
  ]);
});

test("steps, of an execution that goes on or never ran, are none, or the wait alone", () => {
  expect(names({ createdAt: at(0), finishedAt: null, uploadedAt: null, attempts: [] })).toEqual([]);
  expect(names({ createdAt: at(0), finishedAt: at(7), uploadedAt: null, attempts: [] })).toEqual([["Waiting", 7]]);
});
