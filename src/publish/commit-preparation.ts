import { type CommitCode, listDemandingHeads } from "../../db/commits/environments.ts";
import type { Db } from "../../db/connect.ts";
import type { CommitEnvironments } from "../../environments/commit-environments.ts";
import type { Log } from "../log.ts";

/** A Python that was installed, or an index that answers again, is found after this time. */
const AGAIN_MS = 5 * 60_000;

export interface CommitPreparationDeps {
  readonly db: Db;
  readonly commitEnvironments: Pick<CommitEnvironments, "ensure" | "problemOf" | "problems" | "forgetOthers">;
  readonly log: Log;
}

/**
 * Makes ready what the latest commits of all workflows run with on this host, one after the other, in the background.
 * After an upgrade of the machine, or on another one, no caller waits for that. Then tries every five minutes those
 * that could not be made ready.
 */
export function startPreparingCommits(deps: CommitPreparationDeps): { readonly close: () => void } {
  let isClosed = false;
  let running = false;
  const look = async (isWanted: (head: CommitCode) => boolean): Promise<void> => {
    if (running) return;
    running = true;
    try {
      const heads = await listDemandingHeads(deps.db);
      deps.commitEnvironments.forgetOthers(heads);
      for (const head of heads.filter(isWanted)) {
        if (isClosed) return;
        await prepare(deps, head);
      }
    } catch (error) {
      if (!isClosed) deps.log.warn({ event: "fault", error }, "It could not be looked at which commits can run here.");
    } finally {
      running = false;
    }
  };
  void look(() => true);
  const timer = setInterval(() => {
    if (deps.commitEnvironments.problems().length === 0) return;
    void look(({ workflowId, commitId }) => deps.commitEnvironments.problemOf(workflowId, commitId) !== undefined);
  }, AGAIN_MS).unref();
  return {
    close: () => {
      isClosed = true;
      clearInterval(timer);
    },
  };
}

async function prepare({ commitEnvironments, log }: CommitPreparationDeps, head: CommitCode): Promise<void> {
  const { workflowId, commitId } = head;
  const before = commitEnvironments.problemOf(workflowId, commitId)?.reason;
  try {
    await commitEnvironments.ensure(head, { isRepeated: true });
  } catch (error) {
    const reason = commitEnvironments.problemOf(workflowId, commitId)?.reason;
    if (reason === undefined) throw error;
    if (reason === before) return;
    log.error({ event: "commit.unrunnable", workflowId, commitId, reason }, "A commit cannot run on this host.");
  }
}
