import { setTimeout as sleep } from "node:timers/promises";
import type { Db } from "../db/connect.ts";
import { type Claim, type Claimable, findClaimable } from "../db/executions/attempts.ts";
import type { LedExecution } from "./lead.ts";

/** How often the record is looked at meanwhile. */
const LOOK_MS = 500;
/** An offer that was not taken for so long is made again, perhaps to another host. */
const OFFER_AGAIN_MS = 5_000;

/** Passes executions on whose programs cannot begin on this host. */
export interface PassOn {
  /** Whether there is anything that a program might need and not find here. */
  isWanted(): boolean;
  /** Offers an execution to a host that can begin its program, where this one cannot. False: it is to be claimed here. */
  offer(execution: LedExecution): Promise<boolean>;
}

/**
 * Waits while another host has what this one lacks for the program. Returns what the record says once it needs no attempt
 * any more; undefined when it is to be claimed here. An offer that is lost, with its host or on its way, is made again.
 */
export async function waitElsewhere(
  { db, passOn }: { readonly db: Db; readonly passOn: PassOn },
  claim: Claim & LedExecution,
  signal: AbortSignal,
): Promise<Claimable | undefined> {
  while (!signal.aborted && (await passOn.offer(claim))) {
    const offerAgainAt = performance.now() + OFFER_AGAIN_MS;
    for (let isTaken = false; isTaken || performance.now() < offerAgainAt; ) {
      await sleep(LOOK_MS);
      const found = await findClaimable(db, claim);
      if (found.kind !== "claimable" && found.kind !== "busy") return found;
      isTaken = found.kind === "busy";
      if (signal.aborted) break;
    }
  }
  return undefined;
}
