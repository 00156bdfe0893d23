import { createCheckBudget } from "../../../domain/manifest/check-budget.ts";
import { type InputsResult, parseInputs } from "../../../domain/manifest/inputs.ts";
import type { JsonTexts } from "../../../domain/manifest/json-text.ts";
import type { Manifest } from "../../../domain/manifest/manifest.ts";
import type { UploadedFile } from "../../../domain/manifest/uploads.ts";
import { OverBudgetError, type Threads, toTask } from "../../../system/threads/threads.ts";
import { ApiError } from "../errors.ts";

/** Steps on the event loop: 7 ms. A thread costs a request about 1 ms, and 100 ms when it has to start. */
const INLINE_STEPS_MAX = 1_000_000;
/** The steps of a request end long before, unless the machine has no time. */
const TIMEOUT_MS = 10_000;

export interface GivenInputs {
  readonly manifest: Pick<Manifest, "inputs">;
  readonly values: unknown;
  /** The values as they were written. */
  readonly texts: JsonTexts;
  readonly files: Readonly<Record<string, readonly UploadedFile[]>>;
}

/**
 * Returns what `parseInputs` says of the inputs of a request. What takes long to compare with patterns is compared beside the event
 * loop, for `owner`; what takes too long is a problem of the input.
 */
export async function checkInputs(threads: Threads, owner: string, given: GivenInputs): Promise<InputsResult> {
  const budget = createCheckBudget(INLINE_STEPS_MAX);
  const result = parseInputs(given.manifest, given.values, given.files, budget, given.texts);
  if (budget.steps >= 0) return result;
  try {
    return await threads.run(CHECK, given, { owner, timeoutMs: TIMEOUT_MS });
  } catch (error) {
    if (!(error instanceof OverBudgetError)) throw error;
    throw new ApiError(
      "invalid_request",
      `The values take more ${error.what} to compare with the patterns of their inputs than a request may have. Send shorter values, or simplify the patterns in config.yaml.`,
    );
  }
}

/** Checks on the thread that it is called on. */
export function checkGivenInputs({ manifest, values, files, texts }: GivenInputs): InputsResult {
  return parseInputs(manifest, values, files, createCheckBudget(), texts);
}

const CHECK = toTask(import.meta.url, checkGivenInputs);
