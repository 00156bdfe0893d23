import type { Request, RequestHandler } from "express";
import { Published, PublishPreview, PublishTarget } from "../../../domain/api/publish.ts";
import type { AccountId, CommitId, WorkflowId } from "../../../domain/ids.ts";
import { readArchive } from "../../publish/archive.ts";
import type { CommitFile } from "../../publish/git-objects.ts";
import { requireStorageForCommit } from "../admission/requirements.ts";
import { parseRequest, sendAnswer } from "../answers/body.ts";
import { wantsEvents } from "../answers/open-answer.ts";
import { authorizeAccount } from "../auth/authorize.ts";
import { findOwnWorkflow } from "../auth/workflow-access.ts";
import type { AppDeps } from "../deps.ts";
import type { EditorParts } from "../editor-parts.ts";
import { ApiError } from "../errors.ts";
import { sendProgress } from "./publish-events.ts";

/** What a tar of a folder may be sent as. */
const TAR_TYPES = ["application/x-tar", "application/octet-stream"];

type Deps = Pick<AppDeps, "db" | "editor" | "keptBytesMax" | "contact">;

/** `POST /publish?workflow=…`: the body is a tar of a folder, which becomes the latest commit. */
export function createPublishRoute(deps: Deps): RequestHandler {
  return async (request, response) => {
    const { target, author, ...place } = await findPlace(deps, request);
    const files = await readFiles(request);
    await requireStorageForCommit(deps, place.accountId);
    const { name, message, expectedHead } = target;
    const wanted = { ...place, author, files, name, message, expectedHead: expectedHead as CommitId | undefined };
    const publish = async (report?: (line: string) => void) =>
      toDocument(requireGood(await deps.editor.publish({ ...wanted, report })));
    const published = await (wantsEvents(request) ? sendProgress(response, publish) : publish());
    if (published !== undefined) sendAnswer(response, Published, published, published.created ? 201 : 200);
  };
}

function toDocument({
  kind: _kind,
  apiKey,
  buildLog,
  ...published
}: Good<Awaited<ReturnType<EditorParts["publish"]>>>) {
  return { ...published, ...(apiKey === null ? {} : { apiKey }), ...(buildLog === "" ? {} : { buildLog }) };
}

/** `POST /publish/preview?workflow=…`: what publishing the folder would change. Stores nothing. */
export function createPublishPreviewRoute(deps: Deps): RequestHandler {
  return async (request, response) => {
    const { workflowId, accountId } = await findPlace(deps, request);
    const files = await readFiles(request);
    const { kind: _previewed, ...previewed } = requireGood(await deps.editor.preview({ workflowId, accountId, files }));
    sendAnswer(response, PublishPreview, { workflowId, ...previewed });
  };
}

interface Place {
  readonly workflowId: WorkflowId | null;
  readonly accountId: AccountId;
}

async function findPlace({ db }: Pick<AppDeps, "db">, request: Request) {
  const caller = await authorizeAccount(db, request, "write");
  const target = parseRequest(PublishTarget, request.query);
  const workflow = target.workflow === undefined ? undefined : await findOwnWorkflow(db, caller, target.workflow);
  const place: Place = { workflowId: workflow?.id ?? null, accountId: workflow?.accountId ?? caller.accountId };
  return { target, author: { userId: caller.userId, email: caller.email }, ...place };
}

async function readFiles(request: Request): Promise<readonly CommitFile[]> {
  if (request.is(TAR_TYPES) === false) {
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

type Outcome = Awaited<ReturnType<EditorParts["publish"]>> | Awaited<ReturnType<EditorParts["preview"]>>;
type Good<O extends Outcome> = Extract<O, { kind: "published" | "previewed" }>;

/** Returns the good outcome; throws the refusal of any other. */
function requireGood<O extends Outcome>(outcome: O): Good<O> {
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
