import { z } from "zod";
import type { InputProblem } from "../../../domain/errors.ts";
import { type ExecutionId, isExecutionId, isUploadId, type UploadId } from "../../../domain/ids.ts";
import { flattenBody } from "../../../domain/manifest/inputs.ts";
import { isJsonObject } from "../../../domain/manifest/json-values.ts";
import type { Manifest } from "../../../domain/manifest/manifest.ts";
import { isFileInput } from "../../../domain/manifest/values.ts";

const EARLIER_EXAMPLE = '{"from": {"executionId": "ex_…", "input": "…", "position": 0}}';
const UPLOAD_EXAMPLE = '{"upload": "up_…"}';

const Earlier = z.strictObject({
  from: z.strictObject({
    executionId: z.string().refine(isExecutionId),
    input: z.string(),
    position: z.int().min(0).default(0),
  }),
});

const Uploaded = z.strictObject({ upload: z.string().refine(isUploadId) });

/** What stands in the place of a file: one that was uploaded, or one of an earlier execution. */
export type FileReference = { readonly input: string } & (
  | { readonly uploadId: UploadId }
  | { readonly executionId: ExecutionId; readonly from: { readonly input: string; readonly position: number } }
);

/** A call's values without those that name files, and the files named. */
export interface SplitReferences {
  readonly values: unknown;
  readonly named: readonly FileReference[];
  readonly problems: InputProblem[];
}

/** Takes what names files out of the values of a call. With `earlier`, files of earlier executions may be named, too. */
export function splitReferences(manifest: Manifest, body: unknown, { earlier }: { earlier: boolean }): SplitReferences {
  const flat = flattenBody(manifest, body);
  const keys = earlier ? ["from", "upload"] : ["upload"];
  const problems: InputProblem[] = [];
  const named: FileReference[] = [];
  const given = isJsonObject(flat) ? flat : {};
  const referring = new Set<string>();
  for (const input of manifest.inputs) {
    const value = Object.hasOwn(given, input.name) ? given[input.name] : undefined;
    if (!isFileInput(input) || !isReferring(value, keys)) continue;
    referring.add(input.name);
    for (const element of Array.isArray(value) ? (value as unknown[]) : [value]) {
      const reference = readReference(input.name, element, earlier);
      if (typeof reference === "string") problems.push({ input: input.name, message: reference });
      else named.push(reference);
    }
  }
  if (referring.size === 0) return { values: body, named, problems };
  const rest = Object.entries(given).filter(([name]) => !referring.has(name));
  return { values: Object.fromEntries(rest), named, problems };
}

/** Whether a value is meant to name files; what else stands in the place of a file is answered as always. */
function isReferring(value: unknown, keys: readonly string[]): boolean {
  if (Array.isArray(value)) return value.some((element) => isReferring(element, keys));
  return isJsonObject(value) && keys.some((key) => Object.hasOwn(value, key));
}

function readReference(input: string, element: unknown, earlier: boolean): FileReference | string {
  const uploaded = Uploaded.safeParse(element);
  if (uploaded.success) return { input, uploadId: uploaded.data.upload as UploadId };
  if (!earlier || (isJsonObject(element) && Object.hasOwn(element, "upload")))
    return `must name an upload as ${UPLOAD_EXAMPLE}.`;
  const parsed = Earlier.safeParse(element);
  if (!parsed.success) return `must name a file of an earlier execution as ${EARLIER_EXAMPLE}.`;
  const { executionId, ...from } = parsed.data.from;
  return { input, executionId: executionId as ExecutionId, from };
}
