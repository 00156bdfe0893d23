import type { UsedBefore } from "../db/executions/further-attempts.ts";
import {
  type Charge,
  chargeFor,
  type MicroCredits,
  microCredits,
  type Prices,
  paidSeconds,
} from "../domain/credits.ts";
import type { ExecutionEnd } from "../domain/execution.ts";

/** What pricing an execution needs of its record. */
export interface Priced {
  readonly cpu: number;
  /** The most seconds its program may have used: time-out times attempts. */
  readonly secondsMax: number;
  /** What its attempts used of the processors, where that was measured. */
  readonly processorSeconds: number;
  readonly chargeMax: MicroCredits;
}

/** What has to be held for an execution with another attempt: what it has used, and the most for so many slices of this one. */
export function reservationFor(
  { cpu, timeoutSeconds, secondsUsed, processorSeconds }: UsedBefore,
  prices: Prices,
  slices = 1,
): MicroCredits {
  const paid = paidSeconds(timeoutSeconds, prices, slices);
  const seconds = secondsUsed + paid;
  return chargeFor({ cpu, seconds, processorSeconds: processorSeconds + cpu * paid }, prices).total;
}

/** Prices an execution that has ended. Nothing is due for one that was cancelled while it waited, since nothing ran. */
export function priceOf(
  { cpu, secondsMax, processorSeconds, chargeMax }: Priced,
  { status, secondsUsed }: { readonly status: ExecutionEnd; readonly secondsUsed: number },
  prices: Prices,
): Charge {
  if (status === "cancelled" && secondsUsed === 0) return { compute: microCredits(0), total: microCredits(0) };
  const seconds = Math.min(secondsUsed, secondsMax);
  const charge = chargeFor({ cpu, seconds, processorSeconds: Math.min(processorSeconds, cpu * secondsMax) }, prices);
  // A price that rose meanwhile must not charge more than was reserved.
  const total = charge.total < chargeMax ? charge.total : chargeMax;
  return { compute: charge.compute < total ? charge.compute : total, total };
}
