import type { RequestHandler } from "express";
import { z } from "zod";
import { findCommit, findObjects } from "../../../db/commits/commits.ts";
import type { Db } from "../../../db/connect.ts";
import { Difference } from "../../../domain/api/commits.ts";
import { GivenCommitId, type Sent } from "../../../domain/api/fields.ts";
import type { CommitId, WorkflowId } from "../../../domain/ids.ts";
import { toTask } from "../../../system/threads/threads.ts";
import { walkTree } from "../../publish/commit-files.ts";
import { isBinary } from "../../publish/difference.ts";
import { type DraftFile, isSame } from "../../publish/draft-changes.ts";
import { readWorkingCopy } from "../../publish/drafts.ts";
import { toBuffer } from "../../publish/git-objects.ts";
import { parseRequest } from "../answers/body.ts";
import { authorizeAccountWorkflow } from "../auth/workflow-access.ts";
import type { AppDeps } from "../deps.ts";
import { ApiError } from "../errors.ts";
import { targetOf } from "./drafts.ts";
import { sendLarge, writeJson } from "./file-answers.ts";
import { toText } from "./file-document.ts";

/** Contents that are compared in one statement: bounds the memory of a comparison. */
const BLOBS_PER_FETCH = 50;

const Query = z.object({
  from: z.union([z.literal("").transform(() => undefined), GivenCommitId]).optional(),
  to: z.union([z.literal("draft"), GivenCommitId]).default("draft"),
});

/** A file by its blob; what a draft has of it, where it is one. */
type Entry = Pick<DraftFile, "blobId" | "executable"> & { readonly content?: Buffer };
type Side = ReadonlyMap<string, Entry>;

/** `GET …/diff?from=&to=`: the files that two commits, or a commit and the caller's draft, do not have in common. */
export function createDiffRoute({ db, threads }: Pick<AppDeps, "db" | "threads">): RequestHandler {
  return async (request, response) => {
    const access = await authorizeAccountWorkflow(db, request, "read");
    const { from, to } = parseRequest(Query, request.query);
    const workflowId = access.workflow.id;
    const before: Side = from === undefined ? new Map() : await listCommitFiles(db, workflowId, from);
    const after: Side =
      to === "draft"
        ? new Map((await readWorkingCopy(db, targetOf(access))).files.map((file) => [file.path, file]))
        : await listCommitFiles(db, workflowId, to);
    const paths = [...new Set([...before.keys(), ...after.keys()])]
      .filter((path) => !isSame(before.get(path), after.get(path)))
      .sort();
    const files: FilePair[] = [];
    for (let at = 0; at < paths.length; at += BLOBS_PER_FETCH) {
      const some = paths.slice(at, at + BLOBS_PER_FETCH);
      const contents = await readContents(db, workflowId, [before, after], some);
      for (const path of some) files.push(toPair(path, before.get(path), after.get(path), contents));
    }
    const bytes = files.reduce((sum, pair) => sum + (pair.before?.length ?? 0) + (pair.after?.length ?? 0), 0);
    const writing = { task: WRITE, input: { files }, bytes, write: writeDifferences };
    await sendLarge({ threads, owner: access.workflow.accountId, response }, Difference, writing);
  };
}

async function listCommitFiles(db: Db, workflowId: WorkflowId, commitId: CommitId): Promise<Side> {
  const commit = await findCommit(db, workflowId, commitId);
  if (commit === undefined) throw new ApiError("not_found", `The workflow has no commit ${commitId}.`);
  const files = new Map<string, Entry>();
  for await (const { path, id, executable } of walkTree(db, workflowId, commit.treeId))
    files.set(path, { blobId: id, executable });
  return files;
}

async function readContents(
  db: Db,
  workflowId: WorkflowId,
  sides: readonly Side[],
  paths: readonly string[],
): Promise<ReadonlyMap<string, Buffer>> {
  const entries = sides.flatMap((side) => paths.flatMap((path) => side.get(path) ?? []));
  const contents = new Map(
    entries.flatMap(({ blobId, content }) => (content === undefined ? [] : [[blobId, content]])),
  );
  const missing = entries.map(({ blobId }) => blobId).filter((blobId) => !contents.has(blobId));
  for (const { id, content } of await findObjects(db, workflowId, [...new Set(missing)])) contents.set(id, content);
  return contents;
}

interface FilePair {
  readonly path: string;
  readonly status: "added" | "removed" | "changed";
  readonly before: Uint8Array | undefined;
  readonly after: Uint8Array | undefined;
}

function toPair(
  path: string,
  was: Entry | undefined,
  is: Entry | undefined,
  contents: ReadonlyMap<string, Buffer>,
): FilePair {
  return {
    path,
    status: was === undefined ? "added" : is === undefined ? "removed" : "changed",
    before: was && contents.get(was.blobId),
    after: is && contents.get(is.blobId),
  };
}

/** Writes on the thread that it is called on. */
export function writeDifferences({ files }: { files: readonly FilePair[] }): Uint8Array {
  const document: Sent<z.output<typeof Difference>> = { files: files.map(toDifference) };
  return writeJson(document);
}

const WRITE = toTask(import.meta.url, writeDifferences);

/** `before` and `after` are texts; null where there is none, or it is not to be shown (`binary`, or too long). */
function toDifference({ path, status, ...sides }: FilePair) {
  const before = sides.before && toBuffer(sides.before);
  const after = sides.after && toBuffer(sides.after);
  return {
    path,
    status,
    before: before === undefined ? null : toText(before),
    after: after === undefined ? null : toText(after),
    binary: [before, after].some((content) => content !== undefined && isBinary(content)),
    bytesBefore: before?.length ?? null,
    bytesAfter: after?.length ?? null,
  };
}
