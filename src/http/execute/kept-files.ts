import { z } from "zod";
import type { Db } from "../../../db/connect.ts";
import { findInputFiles, type KeptFile } from "../../../db/executions/details.ts";
import type { InputProblem } from "../../../domain/errors.ts";
import type { StoredFile } from "../../../domain/execution.ts";
import { type AccountId, type ExecutionId, isExecutionId, type WorkflowId } from "../../../domain/ids.ts";
import { flattenBody } from "../../../domain/manifest/inputs.ts";
import { isJsonObject } from "../../../domain/manifest/json-values.ts";
import type { Manifest } from "../../../domain/manifest/manifest.ts";
import { isFileInput } from "../../../domain/manifest/values.ts";
import { NoSuchObjectError, type Storage } from "../../../storage/storage.ts";
import type { Authenticated } from "../auth/authenticate.ts";
import { ApiError } from "../errors.ts";
import type { Uploads } from "./uploads.ts";

const EXAMPLE = '{"from": {"executionId": "ex_…", "input": "…", "position": 0}}';

/** Whose files may be used again: those of earlier executions of this account and workflow. */
export interface Keep {
  readonly db: Db;
  readonly storage: Storage;
  readonly accountId: AccountId;
  readonly workflowId: WorkflowId;
  /** False: the call is only validated, and nothing is copied. */
  readonly copies: boolean;
}

/** For people. A program with a key has its files itself, and may not use those of other executions. */
export function keepFor(
  { db, storage }: { db: Db; storage: Storage },
  { trigger, accountId, workflowId }: Pick<Authenticated, "trigger" | "accountId" | "workflowId">,
  copies: boolean,
): Keep | undefined {
  return trigger === "form" ? { db, storage, accountId, workflowId, copies } : undefined;
}

const Reference = z.strictObject({
  from: z.strictObject({
    executionId: z.string().refine(isExecutionId),
    input: z.string(),
    position: z.int().min(0).default(0),
  }),
});

interface NamedFile {
  readonly input: string;
  readonly executionId: ExecutionId;
  readonly from: { readonly input: string; readonly position: number };
}

/** The values of a call without those that name kept files, and the kept files by their inputs. */
export interface KeptInputs {
  readonly values: unknown;
  readonly files: readonly StoredFile[];
  readonly problems: readonly InputProblem[];
}

/** Finds the files of earlier executions that a call names in the place of files. Nothing is copied yet. */
export async function findKeptInputs(
  keep: Keep | undefined,
  { manifest, body, filesMax }: { manifest: Manifest; body: unknown; filesMax: number },
): Promise<KeptInputs> {
  if (keep === undefined) return { values: body, files: [], problems: [] };
  const { values, named, problems } = splitReferences(manifest, body);
  if (named.length > filesMax) {
    const message = `names too many kept files: a request carries at most ${filesMax} files.`;
    return { values, files: [], problems: [{ input: named[filesMax]?.input ?? "", message }] };
  }
  const { accountId, workflowId } = keep;
  const known = new Map<ExecutionId, readonly KeptFile[] | undefined>();
  for (const executionId of new Set(named.map((one) => one.executionId)))
    known.set(executionId, await findInputFiles(keep.db, { accountId, workflowId, executionId }));
  const files: StoredFile[] = [];
  for (const one of named) {
    const found = chooseFile(one, known.get(one.executionId));
    if (typeof found === "string") problems.push({ input: one.input, message: found });
    else files.push(found);
  }
  return { values, files, problems };
}

function splitReferences(manifest: Manifest, body: unknown) {
  const flat = flattenBody(manifest, body);
  const problems: InputProblem[] = [];
  const named: NamedFile[] = [];
  const given = isJsonObject(flat) ? flat : {};
  const referring = new Set<string>();
  for (const input of manifest.inputs) {
    const value = Object.hasOwn(given, input.name) ? given[input.name] : undefined;
    if (!isFileInput(input) || !isReferring(value)) continue;
    referring.add(input.name);
    for (const element of Array.isArray(value) ? (value as unknown[]) : [value]) {
      const parsed = Reference.safeParse(element);
      if (parsed.success) {
        const { executionId, ...from } = parsed.data.from;
        named.push({ input: input.name, executionId: executionId as ExecutionId, from });
      } else problems.push({ input: input.name, message: `must name a file of an earlier execution as ${EXAMPLE}.` });
    }
  }
  if (referring.size === 0) return { values: body, named, problems };
  const rest = Object.entries(given).filter(([name]) => !referring.has(name));
  return { values: Object.fromEntries(rest), named, problems };
}

/** Whether a value is meant to name files; what else stands in the place of a file is answered as always. */
function isReferring(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(isReferring);
  return isJsonObject(value) && Object.hasOwn(value, "from");
}

function chooseFile(
  { input, executionId, from }: NamedFile,
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
 * Copies kept files, so that each execution has its own. The copies stay when the first execution's files are removed.
 * Throws 400 when one has been removed meanwhile.
 */
export async function copyKeptFiles(
  keep: Keep | undefined,
  uploads: Uploads,
  files: readonly StoredFile[],
): Promise<StoredFile[]> {
  if (keep === undefined || !keep.copies) return [...files];
  const copies: StoredFile[] = [];
  for (const file of files) {
    const content = await keep.storage.get(file.storageKey).catch((error: unknown) => {
      if (!(error instanceof NoSuchObjectError)) throw error;
      const message = explainGone("an earlier execution");
      throw new ApiError("invalid_request", `${file.name} ${message}`, { details: [{ input: file.name, message }] });
    });
    const copy = await uploads.put(content, { bytesMax: file.bytes, signal: new AbortController().signal });
    if (copy.sha256 !== file.sha256)
      throw new Error(`The file ${file.storageKey} is not what was stored under that key.`);
    copies.push({ ...file, ...copy });
  }
  return copies;
}
