import type { ExecutionSteps } from "../../activities/index.ts";
import type { LedExecution, RunCommit } from "../../activities/lead.ts";
import type { Db } from "../../db/connect.ts";
import { EXECUTION_OFFERED, type Offer, offerExecution } from "../../db/executions/offers.ts";
import type { Subscription } from "../../db/subscription.ts";
import type { Log } from "../log.ts";
import { carryOut, type Executor } from "./executor.ts";
import type { WorkersWatch } from "./presence.ts";

/**
 * Lets workers carry out executions, for a process that runs none. Each is offered to one worker that can run it, by turns. It may
 * wait there for a slot, as it would wherever its workflow went. An offer that nobody takes is no loss: its workflow is started a second later.
 */
export function createRemoteExecutor({
  db,
  workers,
}: {
  db: Db;
  workers: Pick<WorkersWatch, "listOpen" | "hasFree">;
}): Executor {
  let turn = 0;
  const chooseHost = (commit: RunCommit): string | undefined => {
    const open = workers.listOpen(commit);
    turn += 1;
    return open[turn % open.length];
  };
  return {
    isOpen: (commit) => workers.listOpen(commit).length > 0,
    canBegin: (_execution, commit) => workers.hasFree(commit),
    lead: () => undefined,
    chooseHost,
    async execute({ executionId, accountId }, commit) {
      const hostId = chooseHost(commit);
      if (hostId !== undefined) await offerExecution(db, { executionId, accountId, hostId });
    },
  };
}

/** Takes what is offered to this host. What goes wrong is left to the workflow. */
export function takeOffers(deps: {
  hostId: string;
  steps: () => ExecutionSteps | undefined;
  isStopping: () => boolean;
  log: Log;
}): Subscription {
  return {
    channel: EXECUTION_OFFERED,
    onNotify(payload) {
      const { hostId, atOnce = false, ...execution } = JSON.parse(payload) as Offer;
      const steps = deps.steps();
      if (hostId !== deps.hostId || steps === undefined || deps.isStopping()) return;
      take(steps, execution satisfies LedExecution, atOnce).catch((error: unknown) =>
        deps.log.debug(
          { event: "execution.fault", executionId: execution.executionId, error },
          "An execution that was offered is left to its workflow.",
        ),
      );
    },
  };
}

async function take(steps: ExecutionSteps, execution: LedExecution, atOnce: boolean): Promise<void> {
  await carryOut(steps, execution, atOnce ? await steps.begin(execution) : undefined);
}
