import type { ExecutionId } from "../../domain/ids.ts";
import { type Db, queryRows } from "../connect.ts";

/** Where a call wants its result, sealed. */
export interface CallReceiver {
  readonly target: Buffer;
  /** What the message is signed with; null: with nothing. */
  readonly secret: Buffer | null;
  /** What links in the result begin with. */
  readonly apiUrl: string;
}

/** Returns where the result of an execution goes; undefined where its call has not said. */
export async function findCallReceiver(db: Db, executionId: ExecutionId): Promise<CallReceiver | undefined> {
  const [row] = await queryRows<CallReceiver>(
    db,
    `select r.target, r.secret, r.api_url as "apiUrl" from call_receivers r where r.execution_id = :executionId`,
    { executionId },
  );
  return row;
}
