import type { Command } from "commander";
import type { z } from "zod";
import type { DraftPreview, RebasedDraft } from "../../domain/api/drafts.ts";
import { type Act, addCommand, addGroup, type Context } from "./command.ts";
import { type DraftDocument, draftPathOf, getDraft, toSavedAnswer } from "./draft-document.ts";
import { addDraftFileCommands } from "./draft-files.ts";
import { requireFolder, saveFolderAsDraft } from "./folder-draft.ts";
import { type Answer, toTable } from "./io.ts";
import { makeCommit, workflowPathOf } from "./made-commit.ts";
import { CHANGE_SIGNS, toInputLines, toNamedChangeLines, toRefusedLines } from "./publish.ts";
import { Refusal, toLine } from "./refusal.ts";

type PreviewDocument = z.infer<typeof DraftPreview>;

/** `drafts show|get|save|put|rename|delete|preview|commit|take-over|settle|discard`: of whose token it is that asks. */
export function addDraftCommands(program: Command, act: Act): void {
  const drafts = addGroup(program, "drafts", "what you have written of a workflow and not committed");
  addCommand(
    drafts,
    "show",
    "show your draft's files and what is wrong with them; without a draft, the latest commit's",
  )
    .argument("<workflow>")
    .action(act(async (context, [workflow = ""]) => toDraftAnswer(await getDraft(await context.client(), workflow))));
  addCommand(drafts, "save", "make the files of your draft those of a folder")
    .argument("<workflow>")
    .argument("<dir>", "the folder, with its config.yaml")
    .action(act(saveFolder));
  addDraftFileCommands(drafts, act);
  addCommand(drafts, "preview", "show what committing your draft would change, and what is wrong with it")
    .argument("<workflow>")
    .action(act(preview));
  addCommand(drafts, "commit", "make your draft the latest commit")
    .argument("<workflow>")
    .option("-m, --message <text>", "what changed")
    .action(act<{ message?: string }>(commitDraft));
  addCommand(drafts, "take-over", "take over what others committed in files that your draft has not changed")
    .argument("<workflow>")
    .action(act(takeOver));
  addCommand(drafts, "settle", "say that files which both have changed are as you want them, all unless named")
    .argument("<workflow>")
    .argument("[path...]")
    .action(act(settle));
  addCommand(drafts, "discard", "forget your draft; there is no way back")
    .argument("<workflow>")
    .action(
      act(async (context, [workflow = ""]) => {
        const document = await (await context.client()).delete<{ discarded: boolean }>(draftPathOf(workflow));
        return { document, lines: [document.discarded ? "Discarded" : "There was no draft"] };
      }),
    );
}

function toDraftAnswer(document: DraftDocument): Answer {
  const { version, base, head, changed, updatedAt, files, conflicts, problems, warnings } = document;
  const state =
    version === 0 ? "none: these are the files of the latest commit" : changed ? "changed" : "as the commit";
  const lines = [
    `Draft   ${state}`,
    `Commit  ${base ?? "-"}${base === head ? "" : `; the latest is ${head ?? "-"}`}`,
    ...(updatedAt === null ? [] : [`Saved   ${updatedAt}`]),
    "",
    ...toTable(
      ["File", "Bytes"],
      files.map((file) => [file.path, file.bytes]),
    ),
    ...(conflicts.length === 0 ? [] : ["", ...conflicts.map(toConflictLine)]),
    ...(problems.length + warnings.length === 0 ? [] : ["", ...[...problems, ...warnings].map(toLine)]),
  ];
  return { document, lines };
}

function toConflictLine({ path, commitId }: DraftDocument["conflicts"][number]): string {
  return `${path}: ${commitId} has changed it as well; "drafts settle" when it is as you want it`;
}

async function saveFolder(context: Context, [workflow = "", dir = ""]: readonly string[]): Promise<Answer> {
  const folder = await requireFolder(context.io, dir);
  return toSavedAnswer(await saveFolderAsDraft(await context.client(), workflow, folder));
}

async function preview(context: Context, [workflow = ""]: readonly string[]): Promise<Answer> {
  const document = await (await context.client()).get<PreviewDocument>(`${draftPathOf(workflow)}/preview`);
  const { files, inputs, schedule, nextRuns, problems, warnings } = document;
  const rows = (["added", "changed", "removed"] as const).flatMap((change) =>
    files[change].map(({ path, linesAdded, linesRemoved }) => [
      CHANGE_SIGNS[change],
      path,
      linesAdded === null ? "binary" : `+${linesAdded} -${linesRemoved}`,
    ]),
  );
  const lines = [
    ...(rows.length === 0 ? ["No file changes."] : toTable(["", "File", "Lines"], rows)),
    ...toInputLines(inputs),
    ...(schedule === null
      ? []
      : ["", `Schedule ${schedule.change}: ${schedule.before ?? "-"} → ${schedule.after ?? "-"}`]),
    ...toNamedChangeLines(document.scheduleChanges),
    ...toRefusedLines(document.calls),
    ...(nextRuns.length === 0 ? [] : ["", "Next runs", ...nextRuns.map(({ local }) => `  ${local}`)]),
    ...[...problems, ...warnings].map(toLine),
  ];
  return { document, lines, good: problems.length === 0 };
}

/**
 * Commits the draft. The service refuses it after a save elsewhere since it was read here, or a newer commit since it
 * began.
 */
async function commitDraft(
  context: Context,
  [workflow = ""]: readonly string[],
  { message = "" }: { message?: string },
): Promise<Answer> {
  const client = await context.client();
  const { version, base } = await getDraft(client, workflow);
  const made = await makeCommit(context, client, `${workflowPathOf(workflow)}/commits`, {
    message,
    version,
    expectedHead: base,
  });
  return { document: made, lines: [made.changed ? `Committed ${made.commitId}` : `Nothing changed: ${made.commitId}`] };
}

async function takeOver(context: Context, [workflow = ""]: readonly string[]): Promise<Answer> {
  const client = await context.client();
  const { version } = await getDraft(client, workflow);
  const document = await client.post<z.infer<typeof RebasedDraft>>(`${draftPathOf(workflow)}/rebase`, {
    json: { version },
  });
  const { conflicts, draft } = document;
  const lines = [
    `Your draft goes on from ${draft.base ?? "-"}`,
    ...conflicts.map((path) => `${path}: both have changed it, and yours was kept`),
  ];
  return { document, lines };
}

/** The commits that have the others' texts are those that were read here: what came since stays to be settled. */
async function settle(context: Context, [workflow = "", ...paths]: readonly string[]): Promise<Answer> {
  const client = await context.client();
  const known = (await getDraft(client, workflow)).conflicts;
  const unknown = paths.filter((path) => !known.some((conflict) => conflict.path === path));
  if (unknown.length > 0)
    throw new Refusal(
      "Not found",
      `${unknown.join(", ")}: nobody else has changed that. "drafts show" has what is to be settled.`,
    );
  const settled = known.filter(({ path }) => paths.length === 0 || paths.includes(path));
  let conflicts = known;
  for (const json of settled)
    ({ conflicts } = await client.post<Pick<DraftDocument, "conflicts">>(`${draftPathOf(workflow)}/settle`, { json }));
  const lines = settled.length === 0 ? ["Nothing is to be settled"] : settled.map(({ path }) => `Settled ${path}`);
  return { document: { settled, conflicts }, lines: [...lines, ...conflicts.map(toConflictLine)] };
}
