import type { Request } from "express";
import type { InputProblem } from "../../../domain/errors.ts";
import type { StoredFile } from "../../../domain/execution.ts";
import type { AccountId } from "../../../domain/ids.ts";
import { findJsonTexts, parseJsonPart, parseTextPart, splitBody } from "../../../domain/manifest/inputs.ts";
import type { JsonTexts } from "../../../domain/manifest/json-text.ts";
import type { Manifest } from "../../../domain/manifest/manifest.ts";
import { formatSize } from "../../../domain/manifest/sizes.ts";
import type { UploadedFile } from "../../../domain/manifest/uploads.ts";
import { keepsTexts } from "../../../domain/manifest/values.ts";
import type { Threads } from "../../../system/threads/threads.ts";
import type { HttpLimits } from "../deps.ts";
import { ApiError } from "../errors.ts";
import { LARGE_BYTES, readJsonText } from "../server/json-body.ts";
import { giveTurn } from "../server/turns.ts";
import { checkInputs } from "./check-inputs.ts";
import { readForm } from "./form.ts";
import { type Form, withSafeNames } from "./form-parts.ts";
import { copyKeptFiles, findKeptInputs, type Keep } from "./kept-files.ts";
import type { Uploads } from "./uploads.ts";

const NAMED_PROBLEMS_MAX = 5;

export type BodyKind = "json" | "form";

export interface ReceivedInputs {
  readonly inputs: Readonly<Record<string, unknown>>;
  /** Those of kind `json` as they were written. */
  readonly inputTexts: JsonTexts;
  readonly secrets: Readonly<Record<string, string>>;
  readonly files: readonly StoredFile[];
}

interface Receiving {
  readonly kind: BodyKind;
  readonly manifest: Manifest;
  readonly uploads: Uploads;
  readonly limits: HttpLimits;
  readonly keep: Keep;
  readonly threads: Threads;
  /** Whose turn it is on a thread. */
  readonly accountId: AccountId;
}

/** Which of the two kinds of body a request has; any other is 415. */
export function requireBodyKind(request: Request): BodyKind {
  const encoding = request.get("content-encoding") ?? "identity";
  if (encoding.toLowerCase() !== "identity")
    throw new ApiError("unsupported_media_type", "Send the body uncompressed, without Content-Encoding.");
  const [type = "", ...parameters] = (request.get("content-type") ?? "")
    .toLowerCase()
    .split(";")
    .map((part) => part.trim());
  const charset = parameters
    .find((parameter) => parameter.startsWith("charset="))
    ?.slice("charset=".length)
    .replaceAll('"', "");
  if (type === "multipart/form-data") return "form";
  if (type === "application/json" && (charset === undefined || charset === "utf-8" || charset === "utf8"))
    return "json";
  throw new ApiError(
    "unsupported_media_type",
    "Send the inputs as application/json (UTF-8), or as multipart/form-data when files are among them.",
  );
}

/**
 * Reads the body and checks it against the manifest. Every problem at once (400); files are in storage by then. Uploads may be named in
 * the place of files, and so may files of earlier executions, where `keep` says so. They come before new ones of the same input.
 */
export async function receiveInputs(request: Request, options: Receiving): Promise<ReceivedInputs> {
  const { manifest, uploads, limits, keep, threads, accountId } = options;
  const sent = await readSent(request, options);
  const kept = await findKeptInputs(keep, { manifest, body: sent.body, filesMax: limits.filesMax });
  const files = kept.files.length === 0 ? sent.files : withSafeNames([...kept.files, ...sent.files]);
  const given = { manifest, values: kept.values, texts: sent.texts, files: groupFiles(files, sent.strayFiles) };
  const parsed = await checkInputs(threads, accountId, given);
  // Checking a megabyte takes as long as parsing it, and so does writing it down.
  if (!(Number(request.get("content-length")) <= LARGE_BYTES)) await giveTurn();
  // An input whose part has a problem of its own would be called missing as well.
  const known = [...sent.problems, ...kept.problems];
  const named = new Set(known.map((problem) => problem.input));
  const problems = parsed.ok ? known : [...known, ...parsed.problems.filter((problem) => !named.has(problem.input))];
  if (!parsed.ok || problems.length > 0) throw new InvalidInputsError(problems);
  if (kept.files.length > 0) requireRoom(files, limits);
  const copies = await copyKeptFiles(keep, uploads, files.slice(0, kept.files.length));
  return {
    inputs: parsed.inputs,
    inputTexts: findJsonTexts(manifest, parsed.inputs, sent.texts),
    secrets: parsed.secrets,
    files: [...copies, ...files.slice(kept.files.length)],
  };
}

/** Kept files count as if they had been sent again. */
function requireRoom(files: readonly StoredFile[], { filesMax, requestBytesMax }: HttpLimits): void {
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  if (files.length > filesMax)
    throw new ApiError("invalid_request", `A request carries at most ${filesMax} files, kept ones included.`);
  if (bytes > requestBytesMax)
    throw new ApiError(
      "payload_too_large",
      `The files of a request, kept ones included, are at most ${formatSize(requestBytesMax)}.`,
    );
}

interface Sent extends Pick<Form, "files" | "strayFiles" | "problems"> {
  readonly body: unknown;
  /** The values as they were written, where the manifest has inputs for which that matters. */
  readonly texts: JsonTexts;
}

async function readSent(request: Request, options: Receiving): Promise<Sent> {
  const { manifest, limits, keep } = options;
  if (options.kind === "json") {
    const { value: body, text } = await readJsonText(request, limits.jsonBytesMax);
    const matters = keepsTexts(manifest.inputs);
    const texts = matters ? splitBody(manifest, body, text) : {};
    if (text.length > LARGE_BYTES) await giveTurn();
    return { body, texts, files: [], strayFiles: new Set(), problems: [] };
  }
  const form = await readForm(request, { ...options, keepsFiles: keep.earlier });
  const { values, problems } = readTexts(manifest, form);
  const texts = Object.fromEntries([...form.texts].map(([name, { text }]) => [name, text]));
  return { ...form, texts, body: values, problems: [...form.problems, ...problems] };
}

function readTexts(manifest: Manifest, form: Form): { values: Record<string, unknown>; problems: InputProblem[] } {
  const kinds = new Map(manifest.inputs.map((input) => [input.name, input.kind]));
  const problems: InputProblem[] = [];
  const values: [string, unknown][] = [];
  for (const [name, { text, isJson }] of form.texts) {
    const part = isJson ? parseJsonPart(text) : parseTextPart(kinds.get(name) ?? "string", text);
    if (part.ok) values.push([name, part.value]);
    else problems.push({ input: name, message: part.message });
  }
  return { values: Object.fromEntries(values), problems };
}

/** Stray files are named too, so that they are reported like values of unknown or other inputs. */
function groupFiles(
  files: readonly StoredFile[],
  strayFiles: ReadonlySet<string>,
): Record<string, readonly UploadedFile[]> {
  const byName = new Map<string, UploadedFile[]>();
  for (const name of strayFiles) byName.set(name, [{ fileName: "", bytes: 0, contentType: "" }]);
  for (const file of files) byName.set(file.name, [...(byName.get(file.name) ?? []), file]);
  return Object.fromEntries(byName);
}

/** Values or files that the manifest does not take: 400 with every problem. */
export class InvalidInputsError extends ApiError {
  constructor(problems: readonly InputProblem[]) {
    const named = problems
      .slice(0, NAMED_PROBLEMS_MAX)
      .map(({ input, message }) => (input === "" || !/^[a-z]/.test(message) ? message : `${input} ${message}`));
    const more = problems.length > NAMED_PROBLEMS_MAX ? ` And ${problems.length - NAMED_PROBLEMS_MAX} more.` : "";
    super("invalid_request", `${named.join(" ")}${more}`, { details: problems });
  }
}
