import fc from "fast-check";

/**
 * How many cases all fuzzers of this tier try together, and the seed that decides which. `TREADLE_FUZZ_CASES=100000` is the
 * long form; a failure names its seed, and `TREADLE_FUZZ_SEED` repeats it. The seed is fixed otherwise, so that a run of
 * the tests says the same as the run before.
 */
export const CASES = Number(process.env["TREADLE_FUZZ_CASES"] ?? 2_000);
export const SEED = Number(process.env["TREADLE_FUZZ_SEED"] ?? 20_261_121);

/** Of 1,000 cases. All together are 1,000. */
const SHARES = { manifestText: 200, manifestValues: 150, cron: 250, inputs: 200, form: 100, json: 100 } as const;

/** The cases that one fuzzer has to try. */
export function casesOf(fuzzer: keyof typeof SHARES): number {
  return Math.max(1, Math.round((CASES * SHARES[fuzzer]) / 1_000));
}

/** Minutes, in the long form, where seconds are enough otherwise. */
export const FUZZ_MS = 60_000 + CASES * 30;

/** The same cases for the same seed; a failure is made small and printed with what repeats it. */
export function fuzz<T>(fuzzer: keyof typeof SHARES, arbitrary: fc.Arbitrary<T>, check: (value: T) => void): void {
  fc.assert(fc.property(arbitrary, check), { numRuns: casesOf(fuzzer), seed: SEED, endOnFailure: false });
}
