import { setTimeout as sleep } from "node:timers/promises";
import { request } from "undici";
import type { Random } from "../random.ts";
import type { LoadDeps, Progress } from "./clients.ts";
import { sendRecorded } from "./requests.ts";

const LOOK_MS = 200;
const LISTED = 30;

/** Cancels one of the executions that wait or run, for about every fifteenth that was accepted, until `isOver`. */
export async function runCanceller(
  deps: LoadDeps & { operatorToken: string },
  load: { random: Random; progress: Progress; isOver: () => boolean },
): Promise<void> {
  let next = 3;
  while (!load.isOver()) {
    await sleep(LOOK_MS);
    if (load.progress.accepted.size < next) continue;
    const open = await listOpen(deps);
    if (open.length === 0) continue;
    next += load.random.integer(8, 22);
    const { executionId, workflowId } = load.random.pick(open);
    const [workflow, published] =
      Object.entries(deps.workflows).find(([, each]) => each.workflowId === workflowId) ?? [];
    if (workflow === undefined || published === undefined) continue;
    await sendRecorded(
      deps,
      { purpose: "cancel", workflow, executionId },
      {
        url: `${deps.apiUrl}/run-logs/${executionId}/cancel`,
        method: "POST",
        headers: { "x-api-key": published.apiKey },
      },
    );
  }
}

interface Listed {
  readonly executionId: string;
  readonly workflowId: string;
  readonly status: string;
}

/** None while the service does not answer. */
async function listOpen(deps: LoadDeps & { operatorToken: string }): Promise<Listed[]> {
  try {
    const answer = await request(`${deps.apiUrl}/executions?limit=${LISTED}`, {
      dispatcher: deps.agent,
      headers: { authorization: `Bearer ${deps.operatorToken}` },
      headersTimeout: 5_000,
    });
    const { executions = [] } = (await answer.body.json()) as { executions?: Listed[] };
    return executions.filter(({ status }) => status === "queued" || status === "running");
  } catch {
    return [];
  }
}
