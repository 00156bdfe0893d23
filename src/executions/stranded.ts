import type { Activities } from "../../activities/index.ts";
import type { Db } from "../../db/connect.ts";
import { findStartable } from "../../db/executions/executions.ts";
import { listStranded, listUnrepeated, loseOutputs, type Stranded } from "../../db/executions/stranded.ts";
import type { ExecutionId } from "../../domain/ids.ts";
import type { TemporalClient } from "../temporal/client.ts";
import { presentSecondsOf } from "./presence.ts";

/** Longer between two looks, the database was away perhaps, and no host could say that it is there. */
const LOOKS_APART_MAX_MS = 60_000;
const LIMIT = 200;

interface EndDeps {
  readonly db: Db;
  /** The host of this process. */
  readonly hostId: string;
  readonly temporalClient: Pick<TemporalClient, "terminate">;
  readonly activities: Pick<Activities, "releaseCredits">;
  readonly onEnded: (execution: Stranded) => Promise<void>;
}

interface StrandedDeps extends EndDeps {
  readonly temporalClient: Pick<TemporalClient, "terminate" | "restart">;
  readonly onRepeated: (executionId: ExecutionId) => Promise<void>;
}

/**
 * Returns what looks for executions that wait for a host that is gone with their outputs. A cancelled one ends at once.
 * The others wait until the host has not been there for `hostGoneSeconds` of looks. Then those whose workflow allows an
 * attempt more are run again, and the rest end uncharged.
 */
export function createStrandedWatch(hostGoneSeconds: number, now: () => number = () => performance.now()) {
  const presentSeconds = presentSecondsOf(hostGoneSeconds);
  const begunAgain = new Set<ExecutionId>();
  let absent = new Map<string, { readonly since: number }>();
  let lookedAt = Number.NEGATIVE_INFINITY;

  return async (deps: StrandedDeps): Promise<void> => {
    const stranded = await listStranded(deps.db, { ownHostId: deps.hostId, limit: LIMIT, presentSeconds });
    const at = now();
    const known = at - lookedAt > LOOKS_APART_MAX_MS ? new Map<string, { since: number }>() : absent;
    lookedAt = at;
    absent = new Map(stranded.map(({ hostId }) => [hostId, known.get(hostId) ?? { since: at }]));
    for (const execution of stranded) {
      const isGone = at - (absent.get(execution.hostId)?.since ?? at) >= hostGoneSeconds * 1000;
      if (isGone && execution.repeatable) await loseOutputs(deps.db, execution);
      else if (isGone || execution.cancelled) await end(deps, execution);
    }
    await beginAgain(deps, begunAgain);
  };
}

/** Ends an execution that was cancelled while it waits for a host that is not there. Changes nothing of any other. */
export async function endCancelled(deps: EndDeps, executionId: ExecutionId): Promise<void> {
  const { db, hostId: ownHostId } = deps;
  const [execution] = await listStranded(db, { ownHostId, limit: 1, presentSeconds: 0, executionId });
  if (execution?.cancelled === true) await end(deps, execution);
}

/** The record first: then the workflow in Temporal finds the execution ended. */
async function end({ temporalClient, activities, onEnded }: EndDeps, execution: Stranded): Promise<void> {
  const { id: executionId, cancelled } = execution;
  await activities.releaseCredits({ executionId, cause: cancelled ? "stranded_cancelled" : "stranded" });
  await onEnded(execution);
  await temporalClient.terminate(executionId);
}

/** Each once, as far as this process knows. To begin one twice changes nothing: its attempts are in the record. */
async function beginAgain(
  { db, temporalClient, onRepeated }: StrandedDeps,
  begunAgain: Set<ExecutionId>,
): Promise<void> {
  const unrepeated = await listUnrepeated(db, LIMIT);
  for (const id of begunAgain) if (!unrepeated.includes(id)) begunAgain.delete(id);
  for (const id of unrepeated.filter((each) => !begunAgain.has(each))) {
    const execution = await findStartable(db, id);
    if (execution === undefined) continue;
    await temporalClient.restart({ ...execution, executionId: id });
    begunAgain.add(id);
    await onRepeated(id);
  }
}
