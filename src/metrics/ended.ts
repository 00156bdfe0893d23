import { Counter, Histogram, type Registry } from "prom-client";
import type { Db } from "../../db/connect.ts";
import { type EndedFigures, listEndedFigures } from "../../db/figures.ts";
import { EXECUTION_ENDED } from "../../db/ledger/credits.ts";
import type { Subscription } from "../../db/subscription.ts";
import { toCredits } from "../../domain/credits.ts";
import { EXECUTION_ENDS, TRIGGERS } from "../../domain/execution.ts";
import type { ExecutionId } from "../../domain/ids.ts";

/** So many are looked up together, or as many as there are when figures are asked for. */
const BATCH = 500;
/** While the database does not answer, more ends than this are not remembered. */
const HEARD_MAX = 100_000;
const STATUSES: readonly EndedFigures["status"][] = [
  ...EXECUTION_ENDS,
  "internal",
  "insufficient_credits",
  "no_capacity",
];
const SECONDS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3_600, 14_400, 86_400];

/**
 * Counts the executions of the whole installation that end while this process listens. Only their ids are kept until
 * figures are asked for, or many have come together. Then the record is asked for all of them at once.
 */
export function countEndedExecutions({ db, registry }: { db: Db; registry: Registry }) {
  const figures = createFigures(registry);
  let heard: ExecutionId[] = [];
  let counting: Promise<void> | undefined;

  async function countHeard(): Promise<void> {
    while (heard.length > 0) {
      const ids = heard.splice(0, BATCH);
      try {
        for (const ended of await listEndedFigures(db, ids)) figures.add(ended);
      } catch (error) {
        heard = [...ids, ...heard].slice(0, HEARD_MAX);
        throw error;
      }
    }
  }

  /**
   * Resolves when all that were announced are counted. Rejects when the record cannot be asked; they are counted later.
   */
  function count(): Promise<void> {
    counting ??= countHeard().finally(() => {
      counting = undefined;
    });
    return counting;
  }

  const subscription: Subscription = {
    channel: EXECUTION_ENDED,
    onNotify(id) {
      if (heard.length < HEARD_MAX) heard.push(id as ExecutionId);
      if (heard.length % BATCH === 0) count().catch(() => undefined);
    },
  };
  return { subscription, count };
}

export type EndedExecutions = ReturnType<typeof countEndedExecutions>;

function createFigures(registry: Registry) {
  const registers = [registry];
  const ends = new Counter({
    name: "treadle_executions_ended_total",
    help: "Executions of the installation that ended while this process listened, by how",
    labelNames: ["trigger", "status"],
    registers,
  });
  for (const trigger of TRIGGERS) for (const status of STATUSES) ends.inc({ trigger, status }, 0);
  const took = new Histogram({
    name: "treadle_execution_seconds",
    help: "From the acceptance of an execution to its end",
    labelNames: ["trigger"],
    buckets: SECONDS,
    registers,
  });
  const waited = new Histogram({
    name: "treadle_execution_wait_seconds",
    help: "From the acceptance of an execution until its program began",
    labelNames: ["trigger"],
    buckets: SECONDS,
    registers,
  });
  for (const trigger of TRIGGERS) for (const histogram of [took, waited]) histogram.zero({ trigger });
  const credits = new Counter({
    name: "treadle_credits_settled_total",
    help: "Credits charged for executions that ended while this process listened",
    registers,
  });
  return {
    add({ trigger, status, waitedSeconds, tookSeconds, charge }: EndedFigures): void {
      ends.inc({ trigger, status });
      took.observe({ trigger }, tookSeconds);
      if (waitedSeconds !== null) waited.observe({ trigger }, waitedSeconds);
      credits.inc(toCredits(charge));
    },
  };
}
