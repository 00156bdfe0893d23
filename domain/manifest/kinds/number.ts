import { isChangedNumber } from "../json-text.ts";
import { describeKind, type JsonObject } from "../json-values.ts";
import type { NumberInput } from "../manifest.ts";
import type { ValueKind } from "./value-kind.ts";

/** Python, JavaScript and JSON agree about whole numbers up to here. */
const INTEGER_MAX = Number.MAX_SAFE_INTEGER;

/** JSON's text of a number without a point or an exponent. */
const WHOLE = /^\s*-?\d+\s*$/;

const EXAMPLES = [1, 0, 10, 100, 0.5, -1];

export const numberKind: ValueKind<NumberInput> = {
  example: "1.5",
  structured: false,
  // `1.0` is a float in Python, `1` is not.
  keepsText: isChangedNumber,
  defaultIsText: false,
  findTextProblem: findDigitsProblem,
  check: (input, value) =>
    typeof value === "number" && Number.isFinite(value)
      ? checkBounds(input, value)
      : [`must be a number, not ${typeof value === "number" ? value : describeKind(value)}.`],
  describe: (input) => ({ type: "number", ...describeBounds(input) }),
  explain: ({ min, step }) => (step === null ? [] : [`Goes in steps of ${step} from ${min ?? 0}.`]),
  listExamples: ({ min, max }) => [...[min, max].filter((bound) => bound !== null), ...EXAMPLES],
};

export const integerKind: ValueKind<NumberInput> = {
  ...numberKind,
  example: "3",
  keepsText: null,
  findTextProblem: () => undefined,
  check: checkInteger,
  describe: (input) => ({
    type: "integer",
    minimum: -INTEGER_MAX,
    maximum: INTEGER_MAX,
    ...describeBounds(input),
    // Of fractions, JSON Schema's own test is exact where ours forgives what binary numbers do to 0.1.
    ...(input.step !== null && (input.min ?? 0) % input.step === 0 ? { multipleOf: input.step } : {}),
  }),
};

function checkInteger(input: NumberInput, value: unknown): string[] {
  if (typeof value !== "number") return [`must be a whole number, not ${describeKind(value)}.`];
  if (!Number.isInteger(value)) return [`must be a whole number, not ${value}.`];
  return Number.isSafeInteger(value) ? checkBounds(input, value) : [`must be between ±${INTEGER_MAX}.`];
}

/**
 * Returns why a number would not arrive as it was written. Whole digits beyond 2^53 mean a whole number to Python, and
 * JavaScript would change them. With a point or an exponent both read the same number.
 */
function findDigitsProblem(text: string): string | undefined {
  if (!WHOLE.test(text) || Number.isSafeInteger(Number(text))) return undefined;
  return `must be between ±${INTEGER_MAX}, or be written with a point or an exponent.`;
}

function checkBounds({ min, max, step }: NumberInput, value: number): string[] {
  return [
    ...(min !== null && value < min ? [`must be at least ${min}, not ${value}.`] : []),
    ...(max !== null && value > max ? [`must be at most ${max}, not ${value}.`] : []),
    ...(step !== null && !isOnStep(value, min ?? 0, step)
      ? [`must go in steps of ${step} from ${min ?? 0}, unlike ${value}.`]
      : []),
  ];
}

/** Tolerates what binary fractions do to 0.1 + 0.2: one part in 10⁹ of a step. */
function isOnStep(value: number, base: number, step: number): boolean {
  const steps = (value - base) / step;
  return Math.abs(steps - Math.round(steps)) <= 1e-9 * Math.max(1, Math.abs(steps));
}

function describeBounds({ min, max }: NumberInput): JsonObject {
  return { ...(min === null ? {} : { minimum: min }), ...(max === null ? {} : { maximum: max }) };
}
