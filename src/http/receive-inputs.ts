import type { Request } from "express";
import type { InputProblem } from "../../domain/errors.ts";
import type { StoredFile } from "../../domain/execution.ts";
import { parseInputs, parseJsonPart, parseTextPart } from "../../domain/manifest/inputs.ts";
import type { Manifest } from "../../domain/manifest/manifest.ts";
import type { UploadedFile } from "../../domain/manifest/uploads.ts";
import type { HttpLimits } from "./deps.ts";
import { ApiError } from "./errors.ts";
import { readForm } from "./form.ts";
import type { Form } from "./form-parts.ts";
import { readJsonObject } from "./json-body.ts";
import type { Uploads } from "./uploads.ts";

const NAMED_PROBLEMS_MAX = 5;

export type BodyKind = "json" | "form";

export interface ReceivedInputs {
  readonly inputs: Readonly<Record<string, unknown>>;
  readonly secrets: Readonly<Record<string, string>>;
  readonly files: readonly StoredFile[];
}

/** Which of the two kinds of body a request has; any other is 415. */
export function demandBodyKind(request: Request): BodyKind {
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

/** Reads the body and checks it against the manifest. Every problem at once (400); files are in storage by then. */
export async function receiveInputs(
  request: Request,
  options: { kind: BodyKind; manifest: Manifest; uploads: Uploads; limits: HttpLimits },
): Promise<ReceivedInputs> {
  const { manifest, limits } = options;
  if (options.kind === "json") {
    const parsed = parseInputs(manifest, await readJsonObject(request, limits.jsonBytesMax));
    if (!parsed.ok) throw invalidInputs(parsed.problems);
    return { inputs: parsed.inputs, secrets: parsed.secrets, files: [] };
  }
  const form = await readForm(request, options);
  const { values, problems: textProblems } = readTexts(manifest, form);
  const parsed = parseInputs(manifest, values, groupFiles(form));
  // An input whose part has a problem of its own would be called missing as well.
  const known = [...form.problems, ...textProblems];
  const named = new Set(known.map((problem) => problem.input));
  const problems = parsed.ok ? known : [...known, ...parsed.problems.filter((problem) => !named.has(problem.input))];
  if (!parsed.ok || problems.length > 0) throw invalidInputs(problems);
  return { inputs: parsed.inputs, secrets: parsed.secrets, files: form.files };
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
function groupFiles(form: Form): Record<string, readonly UploadedFile[]> {
  const byName = new Map<string, UploadedFile[]>();
  for (const name of form.strayFiles) byName.set(name, [{ fileName: "", bytes: 0, contentType: "" }]);
  for (const file of form.files) byName.set(file.name, [...(byName.get(file.name) ?? []), file]);
  return Object.fromEntries(byName);
}

function invalidInputs(problems: readonly InputProblem[]): ApiError {
  const named = problems
    .slice(0, NAMED_PROBLEMS_MAX)
    .map(({ input, message }) => (input === "" || !/^[a-z]/.test(message) ? message : `${input} ${message}`));
  const more = problems.length > NAMED_PROBLEMS_MAX ? ` And ${problems.length - NAMED_PROBLEMS_MAX} more.` : "";
  return new ApiError("invalid_request", `${named.join(" ")}${more}`, { details: problems });
}
