import type { ExecutionId } from "../../domain/ids.ts";
import { type Db, queryRows } from "../connect.ts";

/** What attempts before the next one used, and what that one may use. */
export interface UsedBefore {
  readonly cpu: number;
  readonly timeoutSeconds: number;
  readonly secondsUsed: number;
  readonly processorSeconds: number;
}

/** Makes sure that an attempt after the first can be paid. Returns why it cannot, in a sentence. */
export type Pay = (executionId: ExecutionId, used: UsedBefore) => Promise<string | undefined>;

/** Makes the last attempt that ended by itself the last one of its execution, unless the next has begun. `words` end its message. */
export async function endRetries(
  db: Db,
  { executionId, words }: { executionId: ExecutionId; words: string },
): Promise<void> {
  await queryRows(
    db,
    `update attempts a set retry_at = null, message = a.message || case when a.message = '' then '' else ' ' end || :words
      where a.execution_id = :executionId and a.retry_at is not null
        and a.attempt = (select max(l.attempt) from attempts l where l.execution_id = :executionId and l.status is not null)
        and not exists (select from attempts o where o.execution_id = :executionId and o.ended_at is null)`,
    { executionId, words },
  );
}
