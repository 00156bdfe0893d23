import type { RequestHandler } from "express";
import { DeclarationPreview, ScheduleDeclaration } from "../../../domain/api/schedules.ts";
import { parseCron } from "../../../domain/cron/cron.ts";
import { checkTimeZone } from "../../../domain/cron/time-zones.ts";
import { isJsonObject, JSON_DEPTH_MAX } from "../../../domain/manifest/json-values.ts";
import { editSchedule } from "../../../domain/manifest/schedule-edit.ts";
import { readCommit } from "../../publish/drafts.ts";
import { MANIFEST_FILE } from "../../publish/folder.ts";
import { findNextRuns, toWords } from "../../publish/next-runs.ts";
import { validateFolder } from "../../publish/validation.ts";
import { readBody, refuseField, sendAnswer } from "../answers/body.ts";
import { authorizeAccountWorkflow } from "../auth/workflow-access.ts";
import { ApiError } from "../errors.ts";
import { countDepth } from "../server/json-body.ts";
import { type CommittingDeps, commitFiles, headMoved } from "./building.ts";

const SHOWN = 10;

/** `PUT …/schedule`: declares when `triggers.schedule` is due, by a commit of config.yaml; or shows that change and the next runs. */
export function createScheduleDeclarationRoute(deps: CommittingDeps): RequestHandler {
  const { db, editor } = deps;
  return async (request, response) => {
    const access = await authorizeAccountWorkflow(db, request, "write");
    const { expectedHead, dryRun, ...wanted } = await readBody(request, ScheduleDeclaration);
    const { cron, timezone, payload } = wanted;
    checkTimes(cron, timezone);
    checkObject(payload);
    const { id: workflowId, accountId, head } = access.workflow;
    if (head !== expectedHead) throw headMoved(head);
    const files = await readCommit(db, workflowId, head);
    const before = files.find(({ path }) => path === MANIFEST_FILE)?.content.toString("utf8") ?? "";
    const edit = editSchedule(before, wanted);
    if (!edit.ok) throw new ApiError("invalid_request", edit.message);
    const after = edit.text;
    const edited = files.map((file) => (file.path === MANIFEST_FILE ? { ...file, content: Buffer.from(after) } : file));
    if (!dryRun)
      return commitFiles(deps, access, { files: edited, message: "Change the schedule", expectedHead }, response);
    const validation = await validateFolder(edited, editor.abilities, { accountId, workflowId });
    if (!validation.ok)
      throw new ApiError("invalid_request", "config.yaml would be wrong then.", { details: validation.problems });
    const { schedule } = validation.manifest.triggers;
    const nextRuns = findNextRuns(schedule, new Date(), SHOWN);
    sendAnswer(response, DeclarationPreview, { before, after, description: toWords({ cron, timezone }), nextRuns });
  };
}

function checkTimes(cron: string, timezone: string): void {
  const parsed = parseCron(cron);
  if (!parsed.ok) throw refuseField("cron", parsed.problems.map(({ message }) => message).join(" "));
  const zone = checkTimeZone(timezone);
  if (!zone.ok) throw refuseField("timezone", zone.message);
}

function checkObject(payload: string): void {
  if (countDepth(payload) > JSON_DEPTH_MAX)
    throw refuseField("payload", `must not be nested deeper than ${JSON_DEPTH_MAX} levels`);
  if (!isJsonObject(parseJson(payload)))
    throw refuseField("payload", "must be a JSON object of input names and values");
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return undefined;
  }
}
