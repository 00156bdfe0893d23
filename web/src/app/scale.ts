/** A round number at least as large: where the scale ends. 1, 2 or 5 times a power of ten. */
export function roundUp(amount: number): number {
  if (amount <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(amount));
  const times = [1, 2, 5, 10].find((each) => each * power >= amount * (1 - 1e-9)) ?? 10;
  return times * power;
}
