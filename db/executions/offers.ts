import type { AccountId, ExecutionId } from "../../domain/ids.ts";
import { type Db, queryRows } from "../connect.ts";

/** The channel on which executions are offered; the payload is an Offer as JSON. */
export const EXECUTION_OFFERED = "execution_offered";

/** An execution that one host may begin, before Temporal knows of it. */
export interface Offer {
  readonly executionId: ExecutionId;
  readonly accountId: AccountId;
  readonly hostId: string;
  /** Nothing but a slot has to be waited for: its credits and its first attempt can be had in one step. */
  readonly atOnce?: boolean;
}

/** Offers a recorded execution to one host. Nothing is kept: an offer that does not arrive is none. */
export async function offerExecution(db: Db, offer: Offer): Promise<void> {
  await queryRows(db, `select pg_notify('${EXECUTION_OFFERED}', :payload)`, { payload: JSON.stringify(offer) });
}
