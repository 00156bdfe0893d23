declare const brand: unique symbol;

/** An amount of credits in whole micro-credits (1 credit = 1,000,000). Never a fraction, never a float. */
export type MicroCredits = bigint & { readonly [brand]: "MicroCredits" };

export const MICRO_PER_CREDIT = 1_000_000n;

/**
 * For how many seconds of a program credits are held at a time: its slices. With an hour, a run of a day holds a twenty-fourth of
 * what it may cost. Nearly all runs may take an hour at most, and need no further slice.
 */
export const SLICE_SECONDS = 3_600;

/** Prices of an installation, already in micro-credits. */
export interface Prices {
  readonly perCpuSecond: MicroCredits;
  readonly perExecution: MicroCredits;
  /** `SLICE_SECONDS` unless given. */
  readonly sliceSeconds?: number;
}

/** How many of its seconds an attempt is paid for with so many slices. */
export function paidSeconds(timeoutSeconds: number, { sliceSeconds = SLICE_SECONDS }: Prices, slices = 1): number {
  return Math.min(timeoutSeconds, slices * sliceSeconds);
}

/** What one execution costs: `total` is `compute` plus the flat fee. */
export interface Charge {
  readonly compute: MicroCredits;
  readonly total: MicroCredits;
}

/** Believes a whole number of micro-credits. Throws RangeError on a fraction, which would be a bug of ours. */
export function microCredits(value: bigint | number): MicroCredits {
  if (typeof value === "number" && !Number.isSafeInteger(value)) {
    throw new RangeError(`${value} is not a whole number of micro-credits.`);
  }
  return BigInt(value) as MicroCredits;
}

/** Reads credits as people write them ("12", "0.5", "-3.000001"). Undefined when it is not such a number or finer than a micro-credit. */
export function parseCredits(text: string): MicroCredits | undefined {
  const match = /^(-?)(\d{1,12})(?:\.(\d{1,6}))?$/.exec(text.trim());
  if (!match) return undefined;
  const [, sign, whole, fraction = ""] = match;
  const amount = BigInt(whole as string) * MICRO_PER_CREDIT + BigInt(fraction.padEnd(6, "0"));
  return (sign === "-" ? -amount : amount) as MicroCredits;
}

/** The JSON form: a number of credits with at most 6 decimals. Exact up to 9 billion credits. */
export function toCredits(amount: MicroCredits): number {
  return Number(amount) / Number(MICRO_PER_CREDIT);
}

/**
 * Prices one execution: `compute = cpu × seconds × rate`, rounded half up to a micro-credit, once. Where no cgroup kept the program
 * within `cpu`, processor time that is more than `cpu × seconds` counts in its place.
 * `cpu` in cores, `seconds` the wall time of the user's code and its packages with millisecond precision.
 */
export function chargeFor(used: { cpu: number; seconds: number; processorSeconds?: number }, prices: Prices): Charge {
  const agreed = toThousandths(used.cpu) * toThousandths(used.seconds);
  const measured = toThousandths(used.processorSeconds ?? 0) * 1000n;
  const exact = (measured > agreed ? measured : agreed) * prices.perCpuSecond;
  const compute = (exact + 500_000n) / 1_000_000n;
  return { compute: compute as MicroCredits, total: (compute + prices.perExecution) as MicroCredits };
}

function toThousandths(value: number): bigint {
  return BigInt(Math.round(Math.max(0, value) * 1000));
}

/** The most that the first slice of an execution can cost: what is reserved before it runs. */
export function chargeMax(limits: { cpu: number; timeoutSeconds: number }, prices: Prices): MicroCredits {
  return chargeFor({ cpu: limits.cpu, seconds: paidSeconds(limits.timeoutSeconds, prices) }, prices).total;
}
