import { type Request, Router } from "express";
import { z } from "zod";
import type { Db } from "../../../db/connect.ts";
import { type CommitId, isCommitId } from "../../../domain/ids.ts";
import { readArchive } from "../../publish/archive.ts";
import type { CommitFile } from "../../publish/git-objects.ts";
import type { PreviewPublish } from "../../publish/preview.ts";
import { MESSAGE_CHARACTERS_MAX, type Publish } from "../../publish/publish.ts";
import { ApiError } from "../errors.ts";
import { demandStorageForCommit } from "../room.ts";
import { parseRequest, StorableText, sendDocument } from "./body.ts";
import { callerOf, getAccount, getWorkflow } from "./caller.ts";

const Query = z.strictObject({
  workflow: StorableText.optional(),
  account: StorableText.min(1).optional(),
  message: StorableText.max(MESSAGE_CHARACTERS_MAX).default(""),
  name: StorableText.max(255).default(""),
  expectedHead: z.string().refine(isCommitId, "must be a commit id of 40 hex digits").optional(),
  dryRun: z.enum(["true", "false"]).default("false"),
});

/** `POST /publish?workflow=…`: the body is a tar of the folder. With `dryRun=true` nothing is stored. */
export function createPublishRoutes(deps: {
  db: Db;
  publish: Publish;
  preview: PreviewPublish;
  keptBytesMax: number;
}): Router {
  const { db, publish, preview } = deps;
  const router = Router();

  router.post("/publish", async (request, response) => {
    const caller = callerOf(response);
    const query = parseRequest(Query, request.query);
    const workflow = query.workflow === undefined ? undefined : await getWorkflow(db, caller, query.workflow);
    const account = workflow === undefined ? await getAccount(db, caller, query.account) : undefined;
    const files = await readFiles(request);
    const workflowId = workflow?.id ?? null;
    const accountId = account?.id ?? (workflow as NonNullable<typeof workflow>).accountId;
    if (query.dryRun === "true") {
      const { kind: _preview, ...previewed } = check(await preview({ workflowId, accountId, files }));
      sendDocument(response, { workflowId, ...previewed });
      return;
    }
    await demandStorageForCommit(deps, accountId);
    const {
      kind: _published,
      apiKey,
      buildLog,
      ...published
    } = check(
      await publish({
        workflowId,
        accountId,
        name: query.name,
        files,
        message: query.message,
        expectedHead: query.expectedHead as CommitId | undefined,
        author: { userId: caller.userId, email: caller.email },
      }),
    );
    const said = { ...(apiKey === null ? {} : { apiKey }), ...(buildLog === "" ? {} : { buildLog }) };
    sendDocument(response, { ...published, ...said }, published.created ? 201 : 200);
  });

  return router;
}

async function readFiles(request: Request): Promise<readonly CommitFile[]> {
  if (request.is("application/x-tar") === false) {
    throw new ApiError("unsupported_media_type", "Send the folder as a tar archive: Content-Type: application/x-tar.");
  }
  // Giving up early must leave the connection open: the answer still has to go out over it.
  const archive = await readArchive(request.iterator({ destroyOnReturn: false }));
  switch (archive.kind) {
    case "files":
      return archive.files;
    case "problems":
      throw new ApiError("invalid_request", "The folder cannot be published.", { details: archive.problems });
    case "malformed":
      throw new ApiError("invalid_request", archive.message);
    case "too_large":
      throw new ApiError("payload_too_large", archive.message);
  }
}

type Outcome = Awaited<ReturnType<Publish>> | Awaited<ReturnType<PreviewPublish>>;
type Good<O extends Outcome> = Extract<O, { kind: "published" | "previewed" }>;

/** The good outcome, or the refusal thrown. */
function check<O extends Outcome>(outcome: O): Good<O> {
  switch (outcome.kind) {
    case "published":
    case "previewed":
      return outcome as Good<O>;
    case "invalid": {
      const buildLog = "buildLog" in outcome && outcome.buildLog !== "" ? { buildLog: outcome.buildLog } : {};
      throw new ApiError("invalid_request", "The folder cannot be published.", {
        details: outcome.problems,
        ...buildLog,
      });
    }
    case "head_moved":
      throw new ApiError(
        "conflict",
        `The workflow's latest commit is ${outcome.head ?? "none"}, not the one this folder was published as. Look at what changed, then publish with --force.`,
        { head: outcome.head },
      );
    case "unknown_workflow":
      throw new ApiError("workflow_not_found", "The workflow was deleted meanwhile.");
  }
}
