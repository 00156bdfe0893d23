import type { Declared, RequestLine } from "../record.ts";
import type { Exchange } from "./exchanges.ts";
import { groupBy } from "./groups.ts";

/**
 * A commit as its client knows it: asked for from one time on, answered at another, and in between it was made. The end of a workflow is
 * like one that declares nothing.
 */
export interface Commit {
  readonly workflow: string;
  readonly workflowId: string;
  readonly token: string;
  /** The first request for it. */
  readonly request: RequestLine;
  readonly declared: Declared | null;
  readonly askedAt: number;
  /** Undefined: nobody ever said that it was made. */
  readonly answeredAt: number | undefined;
}

/** The clients' commits in their order, one for all requests of one token. */
export function listCommits(exchanges: readonly Exchange[]): Commit[] {
  const publishes = exchanges.filter(({ request }) => ["publish", "delete"].includes(request.purpose));
  return [...groupBy(publishes, ({ request }) => request.token)].flatMap(([token, tries]) => {
    const [first] = tries;
    if (first === undefined) return [];
    const { request } = first;
    // What is not there any more was deleted by an earlier try.
    const ends = request.purpose === "delete" ? [200, 404] : [200];
    const answered = tries.find(({ heard }) => heard?.type === "answer" && ends.includes(heard.status))?.heard;
    return [
      {
        workflow: request.workflow,
        workflowId: request.workflowId ?? "",
        token,
        request,
        declared: request.schedule ?? null,
        askedAt: request.at,
        answeredAt: answered?.at,
      },
    ];
  });
}

/** When the last commit was answered: nothing of a schedule that is paused since then is looked at after it. */
export function findLastCommit(commits: readonly Commit[]): number {
  return Math.max(0, ...commits.map(({ answeredAt }) => answeredAt ?? 0));
}
