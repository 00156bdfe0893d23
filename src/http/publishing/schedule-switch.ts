import type { RequestHandler } from "express";
import { ScheduleSwitch, SwitchPreview } from "../../../domain/api/schedules.ts";
import { editTrigger } from "../../../domain/manifest/trigger-edit.ts";
import { MAIN_SCHEDULE } from "../../../domain/schedules/names.ts";
import { readCommit } from "../../publish/drafts.ts";
import { MANIFEST_FILE } from "../../publish/folder.ts";
import { readBody, sendAnswer } from "../answers/body.ts";
import { authorizeAccountWorkflow } from "../auth/workflow-access.ts";
import { ApiError } from "../errors.ts";
import { type CommittingDeps, commitFiles, headMoved } from "./building.ts";

/** `POST …/schedule`: pauses the schedule, or lets it go on, by a commit that changes one word of config.yaml; or shows that change. */
export function createScheduleSwitchRoute(deps: CommittingDeps): RequestHandler {
  const { db } = deps;
  return async (request, response) => {
    const access = await authorizeAccountWorkflow(db, request, "write");
    const { enabled, schedule, expectedHead, dryRun } = await readBody(request, ScheduleSwitch);
    const { id, head } = access.workflow;
    if (head !== expectedHead) throw headMoved(head);
    const files = await readCommit(db, id, head);
    const before = files.find(({ path }) => path === MANIFEST_FILE)?.content.toString("utf8") ?? "";
    const edit = editTrigger(
      before,
      schedule === undefined || schedule === MAIN_SCHEDULE ? "schedule" : { schedule },
      enabled,
    );
    if (!edit.ok) throw new ApiError("invalid_request", edit.message);
    const after = edit.text;
    if (dryRun) return sendAnswer(response, SwitchPreview, { before, after });
    const edited = files.map((file) => (file.path === MANIFEST_FILE ? { ...file, content: Buffer.from(after) } : file));
    const message = `${enabled ? "Resume" : "Pause"} the schedule${schedule === undefined ? "" : ` ${schedule}`}`;
    await commitFiles(deps, access, { files: edited, message, expectedHead }, response);
  };
}
