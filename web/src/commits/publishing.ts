import { useCallback, useState } from "react";
import type { z } from "zod";
import type { CommitBegun, Committed as CommittedDocument } from "../../../domain/api/commits.ts";
import type { FileProblem } from "../../../domain/errors.ts";
import { type Call, callApi } from "../app/api.ts";
import { ApiError } from "../app/api-error.ts";
import { followEvents } from "../app/events.ts";
import { queries } from "../app/queries.ts";

/** How far a new commit is. */
export type Publishing =
  | { readonly kind: "idle" }
  /** The service validates its files and builds its packages. `log` is the log of the build so far. */
  | { readonly kind: "building"; readonly log: string }
  | { readonly kind: "committed"; readonly commitId: string; readonly changed: boolean }
  /** Another commit was first: `head` is its id. */
  | { readonly kind: "moved"; readonly message: string; readonly head: string | null }
  | {
      readonly kind: "failed";
      readonly message: string;
      readonly problems: readonly FileProblem[];
      readonly log: string;
    };

type Committed = z.infer<typeof CommitBegun> & Partial<z.infer<typeof CommittedDocument>>;

/** Makes a commit by a call of the service, and follows its build where that takes longer than an answer may. */
export function usePublishing(workflowId: string) {
  const [state, setState] = useState<Publishing>({ kind: "idle" });
  const publish = useCallback(
    async (path: string, body: unknown, method: "POST" | "PUT" = "POST"): Promise<Publishing> => {
      setState({ kind: "building", log: "" });
      const end = await start(path, { method, body }, (log) => setState({ kind: "building", log }));
      if (end.kind === "committed" || end.kind === "moved") {
        // Waited for: the next commit would otherwise name a latest commit that is outdated.
        await Promise.all([
          queries.invalidateQueries({ queryKey: ["workflows", workflowId] }),
          queries.invalidateQueries({ queryKey: ["schedules", workflowId] }),
        ]);
      }
      setState(end);
      return end;
    },
    [workflowId],
  );
  const reset = useCallback(() => setState({ kind: "idle" }), []);
  return { state, publish, reset };
}

async function start(path: string, call: Call, tellLog: (log: string) => void): Promise<Publishing> {
  try {
    const answer = await callApi<Committed>(path, call);
    if (answer.commitId !== undefined)
      return { kind: "committed", commitId: answer.commitId, changed: answer.changed ?? true };
    return await followBuild(answer.buildId, tellLog);
  } catch (error) {
    return toFailure(error, "");
  }
}

async function followBuild(buildId: string, tellLog: (log: string) => void): Promise<Publishing> {
  let log = "";
  let end: Publishing | undefined;
  await followEvents(`/api/builds/${buildId}`, {
    signal: new AbortController().signal,
    onEvents(events) {
      for (const { name, data } of events) {
        const told = JSON.parse(data) as Record<string, unknown>;
        if (name === "log") log += String(told["text"]);
        if (name === "result") end = toEnd(told, log);
      }
      if (end !== undefined) return "stop";
      tellLog(log);
      return undefined;
    },
  });
  return (
    end ?? {
      kind: "failed",
      message: "The connection to the build was lost. The history shows how it ended.",
      problems: [],
      log,
    }
  );
}

function toEnd(result: Record<string, unknown>, log: string): Publishing {
  if (typeof result["commitId"] === "string")
    return { kind: "committed", commitId: result["commitId"], changed: result["changed"] !== false };
  return toFailure(new ApiError(result["error"] === "Conflict" ? 409 : 400, result), log);
}

function toFailure(error: unknown, log: string): Publishing {
  if (!(error instanceof ApiError)) throw error;
  const { body, message, status } = error;
  if (status === 409 && "head" in body)
    return { kind: "moved", message, head: typeof body["head"] === "string" ? body["head"] : null };
  const details = error.details as unknown as readonly Partial<FileProblem>[];
  const problems = details.filter((detail): detail is FileProblem => typeof detail.file === "string");
  return { kind: "failed", message, problems, log: typeof body["buildLog"] === "string" ? body["buildLog"] : log };
}
