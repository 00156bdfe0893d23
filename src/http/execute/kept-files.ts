import type { Db } from "../../../db/connect.ts";
import { findInputFiles, type KeptFile } from "../../../db/executions/details.ts";
import { type FileUpload, findFileUploads } from "../../../db/executions/file-uploads.ts";
import type { InputProblem } from "../../../domain/errors.ts";
import type { StoredFile } from "../../../domain/execution.ts";
import type { AccountId, ExecutionId, UploadId, WorkflowId } from "../../../domain/ids.ts";
import type { Manifest } from "../../../domain/manifest/manifest.ts";
import { NoSuchObjectError } from "../../../storage/storage.ts";
import type { Authenticated } from "../auth/authenticate.ts";
import { ApiError } from "../errors.ts";
import { uploadKey } from "../uploads/upload-key.ts";
import { type FileReference, splitReferences } from "./file-references.ts";
import type { Uploads } from "./uploads.ts";

/** Whose files a call may name in the place of files: uploads to this workflow, and files of its earlier executions. */
export interface Keep {
  readonly db: Db;
  readonly accountId: AccountId;
  readonly workflowId: WorkflowId;
  /** For people. A program with a key has its files itself, and may not use those of other executions. */
  readonly earlier: boolean;
  /** False: the call is only validated, and nothing is copied. */
  readonly copies: boolean;
}

export function keepFor(
  { db }: { db: Db },
  { trigger, accountId, workflowId }: Pick<Authenticated, "trigger" | "accountId" | "workflowId">,
  copies: boolean,
): Keep {
  return { db, accountId, workflowId, earlier: trigger === "form", copies };
}

/** The values of a call without those that name kept files, and the kept files by their inputs. */
export interface KeptInputs {
  readonly values: unknown;
  readonly files: readonly StoredFile[];
  readonly problems: readonly InputProblem[];
}

/** Finds the files that a call names in the place of files. Nothing is copied yet. */
export async function findKeptInputs(
  keep: Keep,
  { manifest, body, filesMax }: { manifest: Manifest; body: unknown; filesMax: number },
): Promise<KeptInputs> {
  const { values, named, problems } = splitReferences(manifest, body, keep);
  if (named.length > filesMax) {
    const message = `names too many kept files: a request carries at most ${filesMax} files.`;
    return { values, files: [], problems: [{ input: named[filesMax]?.input ?? "", message }] };
  }
  const { db, accountId, workflowId } = keep;
  const known = new Map<ExecutionId, readonly KeptFile[] | undefined>();
  for (const executionId of new Set(named.flatMap((one) => ("from" in one ? [one.executionId] : []))))
    known.set(executionId, await findInputFiles(db, { accountId, workflowId, executionId }));
  const uploadIds = named.flatMap((one) => ("uploadId" in one ? [one.uploadId] : []));
  const uploads = uploadIds.length === 0 ? [] : await findFileUploads(db, workflowId, uploadIds);
  const files: StoredFile[] = [];
  for (const one of named) {
    const found =
      "uploadId" in one
        ? chooseUpload(
            one,
            uploads.find(({ id }) => id === one.uploadId),
          )
        : chooseFile(one, known.get(one.executionId));
    if (typeof found === "string") problems.push({ input: one.input, message: found });
    else files.push(found);
  }
  return { values, files, problems };
}

function chooseUpload(
  { input, uploadId }: { input: string; uploadId: UploadId },
  upload: FileUpload | undefined,
): StoredFile | string {
  if (upload === undefined)
    return `names ${uploadId}, and this workflow has no upload of that id. It may have expired.`;
  if (upload.completedAt === null)
    return `names ${uploadId}, which is not complete. Send its missing parts, then complete it.`;
  const { fileName, bytes, sha256, contentType } = upload;
  return { name: input, fileName, storageKey: uploadKey(uploadId), bytes, sha256, contentType };
}

function chooseFile(
  { input, executionId, from }: Extract<FileReference, { from: unknown }>,
  files: readonly KeptFile[] | undefined,
): StoredFile | string {
  if (files === undefined) return `names ${executionId}, and this workflow has no execution of that id.`;
  const file = files.find((one) => one.name === from.input && one.position === from.position);
  if (file === undefined)
    return `names a file that ${executionId} was not given: number ${from.position} of the input ${JSON.stringify(from.input)}.`;
  if (file.removedAt !== null) return explainGone(executionId);
  const { fileName, storageKey, bytes, sha256, contentType } = file;
  return { name: input, fileName, storageKey, bytes, sha256, contentType };
}

function explainGone(executionId: string): string {
  return `names a file of ${executionId} that is no longer kept. Choose the file again.`;
}

/**
 * Copies kept files within storage, so that each execution has its own. The copies stay when the first are removed.
 * Throws 400 when one has been removed meanwhile.
 */
export async function copyKeptFiles(keep: Keep, uploads: Uploads, files: readonly StoredFile[]): Promise<StoredFile[]> {
  if (!keep.copies) return [...files];
  const copies: StoredFile[] = [];
  for (const file of files) {
    const storageKey = await uploads.copy(file.storageKey).catch((error: unknown) => {
      if (!(error instanceof NoSuchObjectError)) throw error;
      const message = explainGone("an upload or an earlier execution");
      throw new ApiError("invalid_request", `${file.name} ${message}`, { details: [{ input: file.name, message }] });
    });
    copies.push({ ...file, storageKey });
  }
  return copies;
}
