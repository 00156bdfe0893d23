import { recordRefusedExecution } from "../../../db/executions/refused.ts";
import { microCredits } from "../../../domain/credits.ts";
import { createExecutionId } from "../../ids.ts";
import { costAtMost, insufficientCredits, limitsHere, requireCredits } from "../admission/requirements.ts";
import type { Authenticated } from "../auth/authenticate.ts";
import { rateLimited } from "../auth/rates.ts";
import type { AppDeps } from "../deps.ts";

/**
 * Throws 402 when the account cannot pay the most that an execution may cost, before the body is read. The run of a
 * person leaves a record without its inputs, whose id is in the answer. The call of a program leaves none.
 */
export async function requireCreditsOrRecord(deps: AppDeps, target: Authenticated): Promise<void> {
  if (target.trigger === "api") return requireCredits(deps, target);
  const { manifest, accountId, workflowId, commitId, trigger } = target;
  const needed = costAtMost(deps, manifest);
  const available = microCredits(target.available);
  if (available >= needed) return;
  const executionId = createExecutionId();
  const limits = limitsHere(deps, manifest);
  const recorded = await recordRefusedExecution(
    deps.db,
    {
      id: executionId,
      accountId,
      workflowId,
      commitId,
      trigger,
      inputs: {},
      secretInputs: null,
      files: [],
      timeoutSeconds: limits.timeoutSeconds,
      cpu: limits.cpu,
      attemptsMax: manifest.retry.attemptsMax,
      chargeMax: needed,
      acceptedBy: deps.processId,
    },
    { available, rates: target.rates },
  );
  if (recorded.kind !== "accepted") throw rateLimited(recorded.rates, deps.contact);
  deps.log.info({ event: "execution.refused", executionId, workflowId, accountId, trigger });
  throw insufficientCredits(deps, { needed, available, executionId });
}
