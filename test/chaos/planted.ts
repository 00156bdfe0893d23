import { expect } from "@jest/globals";
import { checkEvidence } from "../../chaos/checker/check.ts";
import type { AnswerLine } from "../../chaos/record.ts";
import { type Draft, soundEvidence } from "./evidence.ts";

/** Plants one thing that must not be. The first of the rules must notice, the others may. */
export type Planted = readonly [what: string, rules: readonly string[], plant: (draft: Draft) => void];

export function rowOf<Key extends "executions" | "accounts">(draft: Draft, list: Key, id: string): Draft[Key][number] {
  return draft[list].find((row) => row.id === id) as Draft[Key][number];
}

export function attemptOf(draft: Draft, id: string, attempt = 1): Draft["attempts"][number] {
  return draft.attempts.find((row) => row.execution_id === id && row.attempt === attempt) as Draft["attempts"][number];
}

export function answerTo(
  draft: Draft,
  request: number,
): AnswerLine & { status: number; body: Record<string, unknown> } {
  return draft.lines.find((line) => line.type === "answer" && line.request === request) as never;
}

/** Plants it in the evidence of a run in which all was well, and looks at what the checker finds. */
export function expectFound([, rules, plant]: Planted, sound: () => Draft = soundEvidence): void {
  const draft = sound();
  plant(draft);
  const found = [...new Set(checkEvidence(draft).map(({ rule }) => rule))];
  expect(found).toContain(rules[0]);
  expect(rules).toEqual(expect.arrayContaining(found));
}
