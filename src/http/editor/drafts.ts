import type { Request, RequestHandler, Response } from "express";
import { z } from "zod";
import { listDraftConflicts, settleDraftConflict } from "../../../db/draft-conflicts.ts";
import { deleteDraft } from "../../../db/drafts.ts";
import type { FileProblem } from "../../../domain/errors.ts";
import { FilePath } from "../../drafts/changes.ts";
import {
  isChanged,
  readWorkingCopy,
  rebaseDraft,
  type Saved,
  type SaveOutcome,
  saveDraft,
  type WorkingCopy,
} from "../../drafts/drafts.ts";
import { checkCandidate } from "../../publish/candidate.ts";
import { contentDisposition } from "../content-disposition.ts";
import type { AppDeps } from "../deps.ts";
import { ApiError } from "../errors.ts";
import { CommitIdText, readBody } from "./body.ts";
import { receiveChanges } from "./draft-changes.ts";
import { sendBytes, sendFiles } from "./file-answers.ts";
import { type Access, authorizeWorkflowEditor, demandUser } from "./workflow-access.ts";

type Deps = Pick<AppDeps, "db" | "editor" | "threads">;

const Version = z.int().min(0);
export const DraftVersion = z.strictObject({ version: Version });
export const SettledFile = z.strictObject({ path: FilePath, commitId: CommitIdText });

/** `GET …/draft`: the caller's draft, or the files of the latest commit. */
export function createDraftRoute(deps: Deps): RequestHandler {
  return async (request, response) => {
    const access = await authorizeWorkflowEditor(deps.db, request, "read");
    const copy = await readWorkingCopy(deps.db, targetOf(access));
    const document = await toDraftDocument(deps, access, copy);
    const { threads } = deps;
    await sendFiles({ threads, owner: access.workflow.accountId, response }, { document, files: copy.files });
  };
}

/** `POST …/draft`: changes files. All of them or none, and only those of the version that the caller has seen. */
export function createDraftChangeRoute(deps: Deps): RequestHandler {
  return async (request, response) => {
    const access = await authorizeWorkflowEditor(deps.db, request, "write");
    const { version, changes } = await receiveChanges(deps.threads, access.workflow.accountId, request);
    const saved = demandSaved(await saveDraft(deps.db, { ...targetOf(access), version, changes }));
    response.json({
      version: saved.version,
      updatedAt: saved.updatedAt,
      changed: await isChanged(deps.db, access.workflow.id, saved),
      problems: await findProblems(deps, access, saved),
    });
  };
}

/** `DELETE …/draft`: the files are those of the latest commit again. */
export function createDiscardRoute({ db }: Deps): RequestHandler {
  return async (request, response) => {
    const access = await authorizeWorkflowEditor(db, request, "write");
    response.json({ discarded: await deleteDraft(db, targetOf(access)) });
  };
}

/** `POST …/draft/rebase`: takes over what others committed in files that the draft has not changed. */
export function createRebaseRoute(deps: Deps): RequestHandler {
  return async (request, response) => {
    const access = await authorizeWorkflowEditor(deps.db, request, "write");
    const { version } = await readBody(request, DraftVersion);
    const { conflicts = [], ...outcome } = await rebaseDraft(deps.db, { ...targetOf(access), version });
    demandSaved(outcome);
    const copy = await readWorkingCopy(deps.db, targetOf(access));
    const document = { draft: await toDraftDocument(deps, access, copy), conflicts };
    const { threads } = deps;
    const answer = { document, part: "draft", files: copy.files };
    await sendFiles({ threads, owner: access.workflow.accountId, response }, answer);
  };
}

/**
 * `POST …/draft/settle`: a file that the caller and somebody else have both changed is as the caller wants it. Another commit than the
 * one that was looked at stays to be decided; answers all that does.
 */
export function createSettleRoute({ db }: Deps): RequestHandler {
  return async (request, response) => {
    const access = await authorizeWorkflowEditor(db, request, "write");
    const settled = await readBody(request, SettledFile);
    const { userId, workflowId } = targetOf(access);
    await settleDraftConflict(db, { userId, workflowId, ...settled });
    response.json({ conflicts: await listDraftConflicts(db, { userId, workflowId }) });
  };
}

/** `GET …/draft/files/:path`: one file as it is, to be kept and never to be shown as part of our pages. */
export function createDraftFileRoute({ db }: Deps): RequestHandler {
  return async (request: Request, response: Response) => {
    const access = await authorizeWorkflowEditor(db, request, "read");
    const { path } = request.params;
    const copy = await readWorkingCopy(db, targetOf(access));
    const file = copy.files.find((each) => each.path === path);
    if (file === undefined) throw new ApiError("not_found", "The draft has no such file.");
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
    const access = await authorizeWorkflowEditor(db, request, "read");
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
    response.json({
      head: preview.head,
      problems: preview.kind === "invalid" ? preview.problems : [],
      warnings: good?.warnings ?? [],
      files: { added: changed("added"), changed: changed("changed"), removed: changed("removed") },
      inputs: good?.inputs ?? [],
      schedule: good?.scheduleChange ?? null,
      nextRuns: good?.nextRuns ?? [],
    });
  };
}

/** Whose draft of what, and what it would begin with. */
export function targetOf(access: Access) {
  const { id: workflowId, head } = access.workflow;
  return { userId: demandUser(access), workflowId, head };
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
    problems: await findProblems(deps, access, copy),
  };
}

/** What publishing would refuse about the files; whether packages exist is not known yet. */
async function findProblems(
  { editor }: Deps,
  { workflow }: Access,
  { files }: Pick<WorkingCopy, "files">,
): Promise<readonly FileProblem[]> {
  const candidate = await checkCandidate(files, editor.abilities, workflow.accountId);
  return candidate.ok ? [] : candidate.problems;
}

function demandSaved(outcome: SaveOutcome): Saved {
  switch (outcome.kind) {
    case "saved":
      return outcome;
    case "version_moved":
      throw versionMoved(outcome.version);
    case "invalid":
      throw new ApiError("invalid_request", "The files cannot be saved like this. Nothing of it was kept.", {
        details: outcome.problems.map((problem) => ({ input: problem.file, ...problem })),
      });
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
