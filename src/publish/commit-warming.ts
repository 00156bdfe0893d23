import { listRecentlyRun } from "../../db/commits/heads.ts";
import { findWorkflow } from "../../db/commits/workflows.ts";
import type { Db } from "../../db/connect.ts";
import { WORKFLOW_CHANGED } from "../../db/executions/states.ts";
import type { Subscription } from "../../db/subscription.ts";
import type { CommitId, WorkflowId } from "../../domain/ids.ts";
import type { Warmth } from "../../sandbox/sandbox.ts";
import { createSlots } from "../../system/slots.ts";
import type { Log } from "../log.ts";

/** Workflows whose latest commit is remembered as warmed. Those beyond are warmed once more when they change. */
const KNOWN_MAX = 10_000;

export interface CommitWarming {
  readonly subscription: Subscription;
  /** Begins with the commits that ran lately, at most so many. */
  open(countMax: number): void;
  close(): void;
}

/** Of all accounts together. One more than may build packages at once, so that commits without packages go on meanwhile. */
const AT_ONCE_MAX = 3;

/**
 * Makes the next run of each published commit a warm one on this host, whichever process has published it. Its packages are
 * there and its lane stands. In the background, by turns between accounts, and one after the other of each.
 */
export function createCommitWarming(deps: {
  db: Db;
  warm: (workflowId: WorkflowId, commitId: CommitId) => Promise<Warmth>;
  log: Log;
}): CommitWarming {
  const { db, warm, log } = deps;
  const turns = createSlots({ count: AT_ONCE_MAX, perAccountMax: 1 });
  const wanted = new Set<WorkflowId>();
  const warmed = new Map<WorkflowId, CommitId>();
  let isClosed = false;

  async function warmLatest(workflowId: WorkflowId): Promise<void> {
    const commitId = (await findWorkflow(db, workflowId))?.head ?? undefined;
    if (commitId === undefined || warmed.get(workflowId) === commitId) return;
    warmed.delete(workflowId);
    warmed.set(workflowId, commitId);
    const [oldest] = warmed.keys();
    if (warmed.size > KNOWN_MAX && oldest !== undefined) warmed.delete(oldest);
    const warmth = await warm(workflowId, commitId);
    log.debug({ event: "workflow.warmed", workflowId, commitId, ...warmth }, "A commit was warmed up.");
  }

  async function warmInTurn(workflowId: WorkflowId): Promise<void> {
    const workflow = await findWorkflow(db, workflowId);
    const end = workflow && (await turns.take({ accountId: workflow.accountId, id: workflowId }));
    wanted.delete(workflowId); // what changes from here on is looked at again
    if (end === undefined) return;
    try {
      if (!isClosed) await warmLatest(workflowId);
    } finally {
      end();
    }
  }

  function add(workflowIds: readonly WorkflowId[]): void {
    for (const workflowId of workflowIds) {
      if (wanted.has(workflowId) || isClosed) continue;
      wanted.add(workflowId);
      warmInTurn(workflowId).catch((error: unknown) => {
        wanted.delete(workflowId);
        if (!isClosed) log.warn({ event: "fault", workflowId, error }, "A commit could not be warmed up.");
      });
    }
  }

  return {
    subscription: {
      channel: WORKFLOW_CHANGED,
      onNotify: (payload) => add([(JSON.parse(payload) as { workflowId: WorkflowId }).workflowId]),
    },
    open(countMax) {
      listRecentlyRun(db, countMax).then(add, (error: unknown) => {
        if (!isClosed) log.warn({ event: "fault", error }, "The commits that ran lately could not be warmed up.");
      });
    },
    close() {
      isClosed = true;
    },
  };
}
