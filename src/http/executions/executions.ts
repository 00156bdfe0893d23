import type { Request, RequestHandler } from "express";
import { z } from "zod";
import { findCommitsBeginning } from "../../../db/commits/history.ts";
import { findWorkflow } from "../../../db/commits/workflows.ts";
import type { Db } from "../../../db/connect.ts";
import { listOwnExecutions } from "../../../db/executions/details.ts";
import { type ListedExecution, listExecutionPage, type Place } from "../../../db/executions/pages.ts";
import {
  CancelledExecutions,
  CancelRequest,
  EXECUTIONS_CURSOR,
  ExecutionPage,
  STATUSES,
} from "../../../domain/api/executions.ts";
import { StorableText } from "../../../domain/api/fields.ts";
import { EXECUTIONS_PAGE_MAX, SEARCH_CHARACTERS_MAX } from "../../../domain/api/limits.ts";
import { toCredits } from "../../../domain/credits.ts";
import { TRIGGERS } from "../../../domain/execution.ts";
import {
  type AccountId,
  type CommitId,
  type ExecutionId,
  isCommitId,
  isWorkflowId,
  type WorkflowId,
} from "../../../domain/ids.ts";
import { forEachAtOnce } from "../../../system/at-once.ts";
import { explainState } from "../../executions/envelope.ts";
import { parseRequest, queryText, readBody, refuseField, sendAnswer } from "../answers/body.ts";
import { type AccountCaller, authorizeAccount } from "../auth/authorize.ts";
import type { AppDeps } from "../deps.ts";
import { requestEnd } from "../results/executions.ts";
import { toSeconds } from "./execution-record.ts";

/** Of a commit's id, as git takes it: the beginning will do. */
const COMMIT_BEGIN = /^[0-9a-f]{4,40}$/;
const CANCELS_AT_ONCE = 8;

/** What the query of a form leaves empty is not asked for. */
function optional<Schema extends z.ZodType>(schema: Schema) {
  return z.preprocess((value) => (value === "" ? undefined : value), schema.optional());
}

const Time = z.iso
  .datetime({ offset: true, error: "must be a time such as 2026-11-01T09:00:00Z" })
  .transform((text) => new Date(text))
  .refine(isStorableTime, "must be a time between the years 1970 and 9999");

const Query = z.object({
  workflow: optional(z.string().refine(isWorkflowId, "must be the id of a workflow")),
  commit: optional(z.string().regex(COMMIT_BEGIN, "must be the id of a commit, or its first four characters at least")),
  state: optional(z.enum(STATUSES, { error: `must be one of ${STATUSES.join(", ")}` })),
  trigger: optional(z.enum(TRIGGERS, { error: `must be one of ${TRIGGERS.join(", ")}` })),
  from: optional(Time),
  to: optional(Time),
  text: optional(StorableText.max(SEARCH_CHARACTERS_MAX)),
  limit: z.coerce.number().int().min(1).max(EXECUTIONS_PAGE_MAX).default(50),
  cursor: z.string().regex(EXECUTIONS_CURSOR, "must be nextCursor of the page before").optional(),
});

function isStorableTime(time: Date): boolean {
  return time.getTime() >= 0 && time.getUTCFullYear() <= 9999;
}

/** A page of the account's executions, the newest first. */
export function createExecutionsRoute({ db }: Pick<AppDeps, "db">): RequestHandler {
  return async (request, response) => {
    const caller = await authorizeAccount(db, request, "read");
    const { workflow, commit, state, trigger, from, to, text, limit, cursor } = parseRequest(Query, request.query);
    const accountId = await chooseAccount(db, request, caller, workflow);
    const commitId =
      commit === undefined ? undefined : await findMeantCommit(db, { accountId, workflow, begin: commit });
    // A beginning that no commit has is what no execution is of.
    if (commitId === null) return sendAnswer(response, ExecutionPage, { executions: [], nextCursor: null });
    const { executions, next } = await listExecutionPage(
      db,
      { accountId, workflowId: workflow, commitId, state, trigger, from, to, text },
      { limit, after: cursor === undefined ? null : readCursor(cursor) },
    );
    const nextCursor = next && `${next.createdMicros}.${next.id}`;
    sendAnswer(response, ExecutionPage, { executions: executions.map(toListed), nextCursor });
  };
}

/** The operator, who names a workflow and no account, means the workflow's. */
async function chooseAccount(
  db: Db,
  request: Request,
  { userId, accountId }: AccountCaller,
  workflowId: WorkflowId | undefined,
): Promise<AccountId> {
  if (userId !== null || workflowId === undefined || queryText(request, "account") !== undefined) return accountId;
  return (await findWorkflow(db, workflowId))?.accountId ?? accountId;
}

/** The one commit whose id begins so; null when there is none. Whole ids are not looked for: executions know them. */
async function findMeantCommit(
  db: AppDeps["db"],
  { accountId, workflow, begin }: { accountId: AccountId; workflow: WorkflowId | undefined; begin: string },
): Promise<CommitId | null> {
  if (workflow === undefined) throw refuseField("commit", "needs its workflow beside it: add workflow=wf_….");
  if (isCommitId(begin)) return begin;
  const [one, other] = await findCommitsBeginning(db, { accountId, workflowId: workflow, begin });
  if (other !== undefined) throw refuseField("commit", "is the beginning of several commits: write more of it.");
  return one ?? null;
}

function readCursor(cursor: string): Place {
  const [, micros = "", id = ""] = EXECUTIONS_CURSOR.exec(cursor) ?? [];
  return { createdMicros: BigInt(micros), id: id as ExecutionId };
}

function toListed(execution: ListedExecution) {
  const { id, workflowId, workflowName, trigger, draft, commitId, createdAt, startedAt, finishedAt } = execution;
  const hasEnded = finishedAt !== null;
  return {
    executionId: id,
    workflowId,
    workflowName,
    status: execution.state,
    trigger,
    draft,
    commitId,
    createdAt,
    startedAt,
    finishedAt,
    duration: hasEnded ? toSeconds(execution.secondsUsed) : null,
    cost: hasEnded ? toCredits(execution.chargeTotal) : null,
    message: explainState(execution),
    failure: execution.failure,
  };
}

/** Asks to end several executions: those that were under way, those that had ended, and those that the account does not have. */
export function createBulkCancelRoute(deps: Pick<AppDeps, "db" | "executions">): RequestHandler {
  return async (request, response) => {
    const { accountId, email } = await authorizeAccount(deps.db, request, "write");
    const asked = [...new Set((await readBody(request, CancelRequest)).executionIds as ExecutionId[])];
    const own = new Set(await listOwnExecutions(deps.db, { accountId, ids: asked }));
    const outcomes = new Map<ExecutionId, "cancelled" | "ended" | "unknown">();
    await forEachAtOnce(asked, CANCELS_AT_ONCE, async (id) => {
      if (!own.has(id)) outcomes.set(id, "unknown");
      else outcomes.set(id, (await requestEnd(deps, id, email)) ? "cancelled" : "ended");
    });
    const those = (outcome: string): ExecutionId[] => asked.filter((id) => outcomes.get(id) === outcome);
    const [cancelled, ended, unknown] = [those("cancelled"), those("ended"), those("unknown")];
    sendAnswer(response, CancelledExecutions, { cancelled, ended, unknown });
  };
}
