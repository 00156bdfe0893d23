import { setTimeout as sleep } from "node:timers/promises";
import type { Db } from "../db/connect.ts";
import { findAttemptState } from "../db/executions/attempt-state.ts";
import type { ExecutionWork } from "../db/executions/attempts.ts";
import { holdSlice } from "../db/ledger/credits.ts";
import { type MicroCredits, type Prices, SLICE_SECONDS, toCredits } from "../domain/credits.ts";
import type { ExecutionId } from "../domain/ids.ts";
import { formatDuration } from "../domain/manifest/durations.ts";
import { reservationFor } from "./price.ts";

/** How long before a slice ends the next one is asked for, where half a slice is not shorter. */
const LEAD_MS = 60_000;
/** A program that cannot go on gets the end signal so long before: a second of grace, and what ending it takes. */
const END_MS = 2_000;
/** How often a database that does not answer, or an account that has too little, is asked again. */
const ASK_AGAIN_MS = 2_000;

export interface SlicesDeps {
  readonly db: Db;
  readonly prices: Prices;
  readonly processId: string;
  readonly onError: (executionId: ExecutionId, error: unknown) => void;
}

/** The time of an attempt that credits are held for, an hour and another hour. */
export interface Slices {
  /** Aborted when the next slice cannot be paid; its reason is a sentence for people. */
  readonly unpaid: AbortSignal;
  /** The seconds of the program count from now on. Of several calls the first counts. */
  begin(): void;
  /** What is held for the execution by all that this process knows: the most that it may be charged. */
  held(): MicroCredits;
  close(): void;
}

/**
 * Holds the credits of a claimed attempt slice by slice, each before the one before it ends. An attempt that may take no longer than
 * one slice asks for nothing. While the database is away the program goes on, and is charged no more than what is held.
 */
export function createSlices(deps: SlicesDeps, work: ExecutionWork): Slices {
  const { executionId, attempt, timeoutSeconds } = work;
  const sliceSeconds = deps.prices.sliceSeconds ?? SLICE_SECONDS;
  const unpaid = new AbortController();
  const closed = new AbortController();
  let held = work.chargeMax;
  let begun = false;

  const wait = (ms: number): Promise<void> => sleep(Math.max(0, ms), undefined, { signal: closed.signal, ref: false });

  async function ask(slices: number) {
    const state = await findAttemptState(deps.db, executionId);
    if (state === undefined) return { kind: "lost" as const };
    const amount = reservationFor(state, deps.prices, slices);
    const answer = await holdSlice(deps.db, { executionId, attempt, processId: deps.processId, amount });
    return Object.assign({ amount }, answer);
  }

  /** Returns false when there is nothing more to hold. */
  async function hold(slices: number, endsAtMs: number): Promise<boolean> {
    for (;;) {
      const answer = await ask(slices).catch((error: unknown) => {
        deps.onError(executionId, error);
        return undefined;
      });
      if (closed.signal.aborted || answer?.kind === "lost") return false;
      const endMs = endsAtMs - END_MS - performance.now();
      if (answer?.kind === "held") {
        if (answer.amount > held) held = answer.amount;
        return true;
      }
      if (answer?.kind === "short" && endMs <= 0) {
        unpaid.abort(explain((slices - 1) * sliceSeconds, answer));
        return false;
      }
      await wait(answer === undefined ? ASK_AGAIN_MS : Math.min(ASK_AGAIN_MS, endMs));
    }
  }

  async function renew(startedAtMs: number): Promise<void> {
    for (let slices = 1; slices * sliceSeconds < timeoutSeconds; slices += 1) {
      const endsAtMs = startedAtMs + slices * sliceSeconds * 1000;
      await wait(endsAtMs - Math.min(LEAD_MS, sliceSeconds * 500) - performance.now());
      if (!(await hold(slices + 1, endsAtMs))) return;
    }
  }

  return {
    unpaid: unpaid.signal,
    begin() {
      if (begun || timeoutSeconds <= sliceSeconds) return;
      begun = true;
      renew(performance.now()).catch((error: unknown) => {
        if (!closed.signal.aborted) deps.onError(executionId, error);
      });
    },
    held: () => held,
    close: () => closed.abort(),
  };
}

function explain(seconds: number, { amount, available }: { amount: MicroCredits; available: MicroCredits }): string {
  return `It was asked to end, because more than its first ${formatDuration(seconds)} could not be paid: then it may cost ${toCredits(amount)} credits, and the account had only ${toCredits(available)} available beside what was held. What it used is charged.`;
}
