import { queryOptions } from "@tanstack/react-query";
import type { z } from "zod";
import type { DraftConflicts, DraftPreview as PreviewDocument, RebasedDraft } from "../../../domain/api/drafts.ts";
import { callApi } from "../app/api.ts";
import { ApiError } from "../app/api-error.ts";
import { queries } from "../app/queries.ts";
import { sessionQuery } from "../app/session.ts";
import type { DraftChange } from "./draft.ts";
import {
  createDraftSaving,
  type DraftConflict,
  type DraftSaving,
  type SaveAnswer,
  type StoredDraft,
} from "./draft-saving.ts";

/** What committing the draft would mean. */
export type DraftPreview = z.infer<typeof PreviewDocument>;

/** Where a draft is, for calls about it. */
export function draftPath(workflowId: string): string {
  return `/api/workflows/${workflowId}/draft`;
}

/**
 * Drafts that were opened in this page, by their owner. They stay: unsaved work outlives its tab and its session, and is
 * saved as soon as the same person is signed in.
 */
const opened = new Map<string, DraftSaving>();

globalThis.addEventListener("beforeunload", (event) => {
  if ([...opened.values()].some((saving) => saving.getState().status !== "saved")) event.preventDefault();
});

/** The draft of a workflow, kept with the service from now on. */
export function draftQuery(workflowId: string) {
  return queryOptions({
    queryKey: ["draft", workflowId],
    async queryFn() {
      const userId = findUserId();
      const key = `${userId} ${workflowId}`;
      const known = opened.get(key);
      if (known !== undefined) {
        await known.refresh();
        return known;
      }
      const saving = createDraftSaving(await loadDraft(workflowId), {
        save: async (version, changes) =>
          findUserId() === userId ? saveDraft(workflowId, version, changes) : NOT_THEIRS,
        load: () => loadDraft(workflowId),
        after(ms, callback) {
          const timer = setTimeout(callback, ms);
          return () => clearTimeout(timer);
        },
      });
      opened.set(key, saving);
      return saving;
    },
    // It keeps itself up to date.
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    refetchOnWindowFocus: false,
    structuralSharing: false,
  });
}

const NOT_THEIRS: SaveAnswer = { kind: "failed", message: "You are not signed in any more." };

/** Who is signed in; nobody: empty. */
function findUserId(): string {
  return queries.getQueryData(sessionQuery.queryKey)?.userId ?? "";
}

function loadDraft(workflowId: string): Promise<StoredDraft> {
  return callApi<StoredDraft>(draftPath(workflowId));
}

async function saveDraft(workflowId: string, version: number, changes: readonly DraftChange[]): Promise<SaveAnswer> {
  try {
    const body = { version, changes };
    const saved = await callApi<Omit<SaveAnswer & { kind: "saved" }, "kind">>(draftPath(workflowId), {
      method: "PATCH",
      body,
    });
    return { kind: "saved", ...saved };
  } catch (error) {
    // An answer that cannot be read is none.
    if (!(error instanceof ApiError)) return { kind: "failed", message: String(error) };
    if (error.status === 409) return { kind: "conflict" };
    const reasons = (error.details as readonly { message: string }[]).map(({ message }) => message);
    const message = [error.message, ...reasons].join(" ");
    // Nobody signed in, too many calls, and errors of the service pass.
    const passes = error.status === 0 || error.status === 401 || error.status === 429 || error.status >= 500;
    return { kind: passes ? "failed" : "refused", message };
  }
}

/** Takes over what others have committed meanwhile. Of files that both have changed the draft keeps its own, and says so. */
export async function rebaseDraft(workflowId: string, saving: DraftSaving): Promise<void> {
  const { version } = saving.getState();
  const path = `${draftPath(workflowId)}/rebase`;
  const { draft } = await callApi<z.infer<typeof RebasedDraft>>(path, { method: "POST", body: { version } });
  saving.replace(draft);
}

/**
 * Settles a file that two authors have changed, once the draft is saved. The notice then disappears in every browser.
 */
export async function settleConflict(workflowId: string, saving: DraftSaving, conflict: DraftConflict): Promise<void> {
  if (!(await saving.saveNow())) throw new Error("Your changes are not saved yet. Try again when they are.");
  const path = `${draftPath(workflowId)}/settle`;
  const { conflicts } = await callApi<z.infer<typeof DraftConflicts>>(path, { method: "POST", body: conflict });
  saving.setConflicts(conflicts);
}

/** Forgets what was written since the last commit, also what was not saved yet. */
export async function discardDraft(workflowId: string, saving: DraftSaving): Promise<void> {
  // What is on its way would come after the draft is gone.
  await saving.saveNow();
  await callApi(draftPath(workflowId), { method: "DELETE" });
  await saving.resolveConflict("theirs");
}

/** What the service has of a draft now, for when something else has changed it. */
export async function reloadDraft(workflowId: string, saving: DraftSaving): Promise<void> {
  saving.replace(await loadDraft(workflowId));
}

/** Returns the query of what a commit would change. Never cached: the answer must be of this moment. */
export function previewQuery(workflowId: string, version: number, head: string | null) {
  return queryOptions({
    queryKey: ["draft", workflowId, "preview", version, head],
    queryFn: ({ signal }) => callApi<DraftPreview>(`${draftPath(workflowId)}/preview`, { signal }),
    staleTime: 0,
    gcTime: 0,
  });
}
