import type { MicroCredits } from "../../domain/credits.ts";
import type { PythonOutcome, StoredFile } from "../../domain/execution.ts";
import type { ExecutionId } from "../../domain/ids.ts";
import { type Db, queryRows } from "../connect.ts";
import { EXECUTION_ENDED } from "../ledger/credits.ts";
import { toFileRow } from "./acceptance.ts";

/** The end of an execution whose first attempt was its only one, with all that came out of it. */
export interface Ending {
  readonly executionId: ExecutionId;
  /** Whose attempt it was. */
  readonly processId: string;
  readonly outcome: PythonOutcome;
  readonly charge: { readonly compute: MicroCredits; readonly total: MicroCredits };
  readonly files: readonly StoredFile[];
  readonly logKey: string | null;
  readonly logBytes: number;
  /** The bytes of the files and of the log, by their keys in storage. */
  readonly objects: readonly { readonly key: string; readonly content: Buffer }[];
}

/**
 * `closed`: the execution had ended before, and only what came out of it was recorded. `lost`: the attempt is not that process's
 * any more, and nothing was changed.
 */
export type Finish = "finished" | "closed" | "lost";
const FINISHES: Readonly<Record<string, Finish>> = { f: "finished", c: "closed", n: "lost" };

/**
 * Ends attempts and executions: records outcomes and outputs, keeps the outputs' bytes as small objects, charges, and
 * announces the ends. One call, all or nothing. Returns what became of each, in order.
 */
export async function finishAll(db: Db, endings: readonly Ending[]): Promise<Finish[]> {
  const objects = endings.flatMap(({ executionId, objects }) =>
    objects.map(({ key, content }) => ({ executionId, key, content })),
  );
  const [row] = await queryRows<{ letters: string }>(
    db,
    `select finish_executions(
       cast(:ids as text[]), cast(:processes as text[]), cast(:statuses as text[]), cast(:messages as text[]),
       cast(:seconds as numeric[]), cast(:processors as numeric[]), cast(:computes as bigint[]), cast(:totals as bigint[]),
       cast(:logKeys as text[]), cast(:logSizes as bigint[]), cast(:files as jsonb),
       cast(:owners as text[]), cast(:keys as text[]), cast(:contents as bytea[]), :channel,
       cast(:memories as bigint[]), cast(:processorsUsed as numeric[]), cast(:connected as jsonb[])) as letters`,
    {
      ids: endings.map(({ executionId }) => executionId),
      processes: endings.map(({ processId }) => processId),
      statuses: endings.map(({ outcome }) => outcome.status),
      messages: endings.map(({ outcome }) => outcome.message),
      seconds: endings.map(({ outcome }) => outcome.secondsUsed),
      processors: endings.map(({ outcome }) => outcome.processorSeconds ?? 0),
      computes: endings.map(({ charge }) => String(charge.compute)),
      totals: endings.map(({ charge }) => String(charge.total)),
      logKeys: endings.map(({ logKey }) => logKey),
      logSizes: endings.map(({ logBytes }) => logBytes),
      files: JSON.stringify(
        endings.flatMap(({ executionId, files }) =>
          files.map((file) => Object.assign(toFileRow(file), { execution_id: executionId })),
        ),
      ),
      owners: objects.map(({ executionId }) => executionId),
      keys: objects.map(({ key }) => key),
      contents: objects.map(({ content }) => content),
      channel: EXECUTION_ENDED,
      memories: endings.map(({ outcome }) => outcome.peakMemoryBytes ?? null),
      processorsUsed: endings.map(({ outcome }) => outcome.usedProcessorSeconds ?? null),
      connected: endings.map(({ outcome }) =>
        outcome.connections === undefined ? null : JSON.stringify(outcome.connections),
      ),
    },
  );
  const letters = row?.letters ?? "";
  if (letters.length !== endings.length)
    throw new Error(`The database answered ${letters.length} of ${endings.length} ends.`);
  return letters.split("").map((letter) => FINISHES[letter] as Finish);
}
