import type { RequestHandler } from "express";
import {
  type AccountFigures,
  type FailingWorkflow,
  findFirstSteps,
  getAccountFigures,
  listFailingWorkflows,
} from "../../../db/executions/account-overview.ts";
import { AccountOverview } from "../../../domain/api/accounts.ts";
import { toCredits } from "../../../domain/credits.ts";
import { explainState } from "../../executions/envelope.ts";
import { sendAnswer } from "../answers/body.ts";
import { authorizeAccount } from "../auth/authorize.ts";
import type { AppDeps } from "../deps.ts";

const DAY_MS = 86_400_000;
/** For so long an account is new. */
const NEW_DAYS = 30;
/** Whether credits last for longer than this, nobody has to know today. */
const LASTS_DAYS_MAX = 3_650;
const FAILING_NAMED = 3;

/** `GET /account/overview`: what runs and waits, what fails, and how long the credits last. */
export function createAccountOverviewRoute({ db }: Pick<AppDeps, "db">): RequestHandler {
  return async (request, response) => {
    const { accountId } = await authorizeAccount(db, request, "read");
    const now = new Date();
    const [figures, failing] = await Promise.all([
      getAccountFigures(db, { accountId, now }),
      listFailingWorkflows(db, accountId),
    ]);
    const isNew = now.getTime() - figures.createdAt.getTime() < NEW_DAYS * DAY_MS;
    sendAnswer(response, AccountOverview, {
      running: figures.running,
      queued: figures.queued,
      failing: {
        count: failing.length,
        newest: failing.slice(0, FAILING_NAMED).map(toDocument),
      },
      available: toCredits(figures.available),
      spentPerDay: toCredits(figures.spentPerDay),
      lastsUntil: foreseeEnd(figures, now),
      firstSteps: isNew ? await findFirstSteps(db, accountId) : null,
    });
  };
}

function toDocument({ workflowId, name, executionId, state, message, failedAt }: FailingWorkflow) {
  return { workflowId, name, executionId, status: state, message: explainState({ state, message }), failedAt };
}

/** When the credits are used up at the rate of the last days. Null when that is not within ten years. */
function foreseeEnd({ available, spentPerDay }: AccountFigures, now: Date): Date | null {
  if (spentPerDay <= 0n) return null;
  const days = Number(available) / Number(spentPerDay);
  return days > LASTS_DAYS_MAX ? null : new Date(now.getTime() + Math.max(0, days) * DAY_MS);
}
