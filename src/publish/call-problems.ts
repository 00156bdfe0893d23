import type { InputProblem } from "../../domain/errors.ts";
import { createCheckBudget } from "../../domain/manifest/check-budget.ts";
import { parseInputs } from "../../domain/manifest/inputs.ts";
import type { JsonTexts } from "../../domain/manifest/json-text.ts";
import type { Input } from "../../domain/manifest/manifest.ts";
import type { UploadedFile } from "../../domain/manifest/uploads.ts";
import { toTask } from "../../system/threads/threads.ts";

/** What a call gave. */
export interface SentCall {
  readonly values: Readonly<Record<string, unknown>>;
  readonly texts: JsonTexts;
  readonly files: Readonly<Record<string, readonly UploadedFile[]>>;
}

/** Returns the problems of each call, as far as the steps of one request reach. */
export function findProblems({
  inputs,
  sent,
}: {
  readonly inputs: readonly Input[];
  readonly sent: readonly SentCall[];
}): (readonly InputProblem[])[] {
  const budget = createCheckBudget();
  const found: (readonly InputProblem[])[] = [];
  for (const { values, files, texts } of sent) {
    const result = parseInputs({ inputs }, values, files, budget, texts);
    if (budget.steps < 0) break;
    found.push(result.ok ? [] : result.problems);
  }
  return found;
}

export const FIND_PROBLEMS = toTask(import.meta.url, findProblems);
