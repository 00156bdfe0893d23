const WHOLE_STEPS = [1, 2, 3, 4, 5, 10];

/** Where the scale of a count ends: at least as large, and each of its parts a whole number. */
export function roundUpCount(count: number, parts: number): number {
  const step = Math.max(1, Math.ceil(count / parts));
  const power = 10 ** Math.floor(Math.log10(step));
  return parts * (WHOLE_STEPS.find((each) => each * power >= step) ?? 10) * power;
}

/** A round number at least as large: where the scale ends. 1, 2 or 5 times a power of ten. */
export function roundUp(amount: number): number {
  if (amount <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(amount));
  const times = [1, 2, 5, 10].find((each) => each * power >= amount * (1 - 1e-9)) ?? 10;
  return times * power;
}
