import type { Request, RequestHandler, Response } from "express";
import { listDraftConflicts, settleDraftConflict } from "../../../db/commits/draft-conflicts.ts";
import { deleteDraft } from "../../../db/commits/drafts.ts";
import {
  DiscardedDraft,
  Draft,
  DraftConflicts,
  DraftPreview,
  DraftVersion,
  RebasedDraft,
  SavedDraft,
  SettledFile,
} from "../../../domain/api/drafts.ts";
import type { FileProblem } from "../../../domain/errors.ts";
import {
  isChanged,
  readWorkingCopy,
  rebaseDraft,
  type Saved,
  type SaveOutcome,
  saveDraft,
  type WorkingCopy,
} from "../../publish/drafts.ts";
import { validateCommit } from "../../publish/validation.ts";
import { readBody, sendAnswer } from "../answers/body.ts";
import { contentDisposition } from "../answers/content-disposition.ts";
import { type Access, authorizeAccountWorkflow, requireUser } from "../auth/workflow-access.ts";
import type { AppDeps } from "../deps.ts";
import { ApiError } from "../errors.ts";
import { receiveChanges } from "./draft-changes.ts";
import { sendBytes, sendFiles } from "./file-answers.ts";

type Deps = Pick<AppDeps, "db" | "editor" | "threads">;

/** `GET …/draft`: the caller's draft, or the files of the latest commit. */
export function createDraftRoute(deps: Deps): RequestHandler {
  return async (request, response) => {
    const access = await authorizeAccountWorkflow(deps.db, request, "read");
    const copy = await readWorkingCopy(deps.db, targetOf(access));
    const document = await toDraftDocument(deps, access, copy);
    const { threads } = deps;
    await sendFiles({ threads, owner: access.workflow.accountId, response }, Draft, { document, files: copy.files });
  };
}

/** `POST …/draft`: changes files. All of them or none, and only those of the version that the caller has seen. */
export function createDraftChangeRoute(deps: Deps): RequestHandler {
  return async (request, response) => {
    const access = await authorizeAccountWorkflow(deps.db, request, "write");
    const { version, changes } = await receiveChanges(deps.threads, access.workflow.accountId, request);
    const saved = requireSaved(await saveDraft(deps.db, { ...targetOf(access), version, changes }));
    sendAnswer(response, SavedDraft, {
      version: saved.version,
      updatedAt: saved.updatedAt,
      changed: await isChanged(deps.db, access.workflow.id, saved),
      ...(await findProblems(deps, access, saved)),
    });
  };
}

/** `DELETE …/draft`: the files are those of the latest commit again. */
export function createDiscardRoute({ db }: Deps): RequestHandler {
  return async (request, response) => {
    const access = await authorizeAccountWorkflow(db, request, "write");
    sendAnswer(response, DiscardedDraft, { discarded: await deleteDraft(db, targetOf(access)) });
  };
}

/** `POST …/draft/rebase`: takes over what others committed in files that the draft has not changed. */
export function createRebaseRoute(deps: Deps): RequestHandler {
  return async (request, response) => {
    const access = await authorizeAccountWorkflow(deps.db, request, "write");
    const { version } = await readBody(request, DraftVersion);
    const outcome = await rebaseDraft(deps.db, { ...targetOf(access), version });
    if (outcome.kind !== "unchanged") requireSaved(outcome);
    const conflicts = "conflicts" in outcome ? outcome.conflicts : [];
    const copy = await readWorkingCopy(deps.db, targetOf(access));
    const document = { draft: await toDraftDocument(deps, access, copy), conflicts };
    const { threads } = deps;
    const answer = { document, part: "draft", files: copy.files };
    await sendFiles({ threads, owner: access.workflow.accountId, response }, RebasedDraft, answer);
  };
}

/**
 * `POST …/draft/settle`: notes that a file which two members have changed is as the caller wants it. Another commit
 * than the one that was looked at stays to be settled. Returns everything that still does.
 */
export function createSettleRoute({ db }: Deps): RequestHandler {
  return async (request, response) => {
    const access = await authorizeAccountWorkflow(db, request, "write");
    const settled = await readBody(request, SettledFile);
    const { userId, workflowId } = targetOf(access);
    await settleDraftConflict(db, { userId, workflowId, ...settled });
    sendAnswer(response, DraftConflicts, { conflicts: await listDraftConflicts(db, { userId, workflowId }) });
  };
}

/** `GET …/draft/files/:path`: one file as it is, to be kept and never to be shown as part of our pages. */
export function createDraftFileRoute({ db }: Deps): RequestHandler {
  return async (request: Request, response: Response) => {
    const access = await authorizeAccountWorkflow(db, request, "read");
    const { path } = request.params;
    const copy = await readWorkingCopy(db, targetOf(access));
    const file = copy.files.find((each) => each.path === path);
    if (file === undefined)
      throw new ApiError("not_found", "The draft has no such file. Show the draft and choose one of its files.");
    response.set({
      "Content-Type": "application/octet-stream",
      "Content-Disposition": contentDisposition("attachment", file.path.split("/").at(-1) ?? ""),
    });
    await sendBytes(response, file.content);
  };
}

/** `GET …/draft/preview`: what committing the draft would change, and what is wrong with it. Changes nothing. */
export function createPreviewRoute({ db, editor }: Deps): RequestHandler {
  return async (request, response) => {
    const access = await authorizeAccountWorkflow(db, request, "read");
    const { files } = await readWorkingCopy(db, targetOf(access));
    const preview = await editor.preview({
      workflowId: access.workflow.id,
      accountId: access.workflow.accountId,
      files,
    });
    if (preview.kind === "unknown_workflow")
      throw new ApiError("workflow_not_found", "The workflow was deleted meanwhile.");
    const good = preview.kind === "previewed" ? preview : undefined;
    const changed = (change: string) =>
      preview.files.flatMap((file) => {
        const { path, linesAdded, linesRemoved } = file;
        return file.change === change ? [{ path, linesAdded, linesRemoved }] : [];
      });
    sendAnswer(response, DraftPreview, {
      head: preview.head,
      problems: preview.kind === "invalid" ? preview.problems : [],
      warnings: good?.warnings ?? [],
      files: { added: changed("added"), changed: changed("changed"), removed: changed("removed") },
      inputs: good?.inputs ?? [],
      schedule: good?.scheduleChange ?? null,
      nextRuns: good?.nextRuns ?? [],
      ...(good?.schedules && { schedules: good.schedules, scheduleChanges: good.scheduleChanges }),
      calls: good?.calls,
    });
  };
}

/** Whose draft of what, and what it would begin with. */
export function targetOf(access: Access) {
  const { id: workflowId, head } = access.workflow;
  return { userId: requireUser(access), workflowId, head };
}

async function toDraftDocument(deps: Deps, access: Access, copy: WorkingCopy) {
  const { workflow } = access;
  return {
    workflowId: workflow.id,
    base: copy.base,
    head: workflow.head,
    changed: copy.version > 0 && (await isChanged(deps.db, workflow.id, copy)),
    updatedAt: copy.updatedAt,
    version: copy.version,
    files: [],
    conflicts: await listDraftConflicts(deps.db, targetOf(access)),
    ...(await findProblems(deps, access, copy)),
  };
}

/** What publishing would refuse about the files, and warn of; whether packages exist is not known yet. */
async function findProblems(
  { editor }: Deps,
  { workflow }: Access,
  { files }: Pick<WorkingCopy, "files">,
): Promise<Record<"problems" | "warnings", readonly FileProblem[]>> {
  const validation = await validateCommit(files, editor.abilities, {
    accountId: workflow.accountId,
    workflowId: workflow.id,
  });
  return { problems: validation.ok ? [] : validation.problems, warnings: validation.warnings ?? [] };
}

function requireSaved(outcome: SaveOutcome): Saved {
  switch (outcome.kind) {
    case "saved":
      return outcome;
    case "version_moved":
      throw versionMoved(outcome.version);
    case "invalid":
      throw new ApiError(
        "invalid_request",
        "The files cannot be saved like this, and nothing was changed. Correct what `details` names, then save again.",
        {
          details: outcome.problems.map((problem) => ({ input: problem.file, ...problem })),
        },
      );
  }
}

/** The draft has changed since the caller saw it: another tab, or a commit. */
export function versionMoved(version: number): ApiError {
  return new ApiError(
    "conflict",
    "The draft was changed elsewhere, in another tab or by a commit. Load it again, then repeat the change.",
    { version },
  );
}
