import { createHash } from "node:crypto";
import type { Request } from "express";
import type { KeyedExecution } from "../../../db/executions/idempotency.ts";
import type { StoredFile } from "../../../domain/execution.ts";
import { markNumbers, textOf } from "../../../domain/manifest/json-text.ts";
import { isJsonObject } from "../../../domain/manifest/json-values.ts";
import type { Input, Manifest } from "../../../domain/manifest/manifest.ts";
import type { SecretBox } from "../../keys/secret-box.ts";
import { ApiError } from "../errors.ts";
import type { ReceivedInputs } from "./receive-inputs.ts";

const CHARACTERS_MAX = 255;
const CONTROL_CHARACTER = /[\0-\x1f\x7f]/;

/**
 * The key under which a caller may send the same call again; null when there is none. A malformed one is a problem to be
 * answered (400) once it is known who asks.
 */
export function parseIdempotencyKey(request: Request): { value: string | null; problem: ApiError | undefined } {
  const values = request.headersDistinct["idempotency-key"] ?? [];
  const [key] = values;
  if (key === undefined) return { value: null, problem: undefined };
  const problem = findKeyProblem(key, values.length);
  if (problem === undefined) return { value: key, problem };
  return { value: null, problem: new ApiError("invalid_request", `Idempotency-Key ${problem}`) };
}

function findKeyProblem(key: string, count: number): string | undefined {
  if (count > 1) return "was sent more than once. Send one.";
  if (key === "") return "is empty. Send a text of your own, such as a UUID, or leave the header out.";
  if (key.length > CHARACTERS_MAX) return `is longer than ${CHARACTERS_MAX} characters.`;
  return CONTROL_CHARACTER.test(key) ? "holds control characters." : undefined;
}

/**
 * 32 bytes that are the same for the same inputs: values as canonical JSON, files by their SHA-256, in order. A value that
 * is its input's default counts as not given. Secrets are left out: a fingerprint could be searched for them; see `requireSameInputs`.
 */
export function fingerprintInputs(manifest: Pick<Manifest, "inputs">, received: ReceivedInputs): Buffer {
  const defaults = new Map(manifest.inputs.map((input) => [input.name, toCanonicalDefault(input)]));
  const { inputTexts } = received;
  const values = Object.entries(received.inputs)
    .map(([name, value]) => [name, toCanonicalJson(value, textOf(inputTexts, name))] as const)
    .filter(([name, json]) => json !== defaults.get(name))
    .sort(byName);
  const files = [...groupByName(received.files)].sort(byName);
  return createHash("sha256")
    .update(JSON.stringify([values, files]))
    .digest();
}

/** 409 unless a repeated call has the inputs, files and secrets of the execution that its key belongs to. Both were read by one commit. */
export function requireSameInputs(keyed: KeyedExecution, repeated: ReceivedInputs, secretBox: SecretBox): void {
  const secrets = keyed.secretInputs === null ? "{}" : secretBox.open(keyed.secretInputs, keyed.id).toString();
  // Without texts it was compared by values alone, as executions were before texts were kept.
  const inputTexts = Object.keys(keyed.inputTexts).length === 0 ? {} : repeated.inputTexts;
  const fingerprint = fingerprintInputs(keyed.manifest as Manifest, { ...repeated, inputTexts });
  const same =
    keyed.fingerprint.equals(fingerprint) && toCanonicalJson(JSON.parse(secrets)) === toCanonicalJson(repeated.secrets);
  if (!same) throw otherInputs(keyed);
}

/** The answer (409) to a call that repeats a key with other inputs. */
export function otherInputs(keyed: KeyedExecution): ApiError {
  return new ApiError(
    "conflict",
    "This Idempotency-Key was used for a call with other inputs. Send the same inputs to get that call's answer, or choose a new key.",
    { executionId: keyed.id },
  );
}

function toCanonicalDefault(input: Input): string {
  if (!("default" in input)) return "null";
  return toCanonicalJson(input.default, "defaultText" in input ? input.defaultText : undefined);
}

/**
 * JSON with the keys of every object in order, so that equal values are equal texts. With its `text`, numbers are compared by
 * their digits where JavaScript would change them.
 */
function toCanonicalJson(value: unknown, text?: string): string {
  const marked = text === undefined ? value : (JSON.parse(markNumbers(text)) as unknown);
  return JSON.stringify(marked, (_name, part: unknown) => {
    if (!isJsonObject(part)) return part;
    const names = Object.keys(part);
    const isSorted = names.every((name, at) => at === 0 || (names[at - 1] as string) < name);
    return isSorted ? part : Object.fromEntries(names.sort().map((name) => [name, part[name]]));
  });
}

function byName([one]: readonly [string, ...unknown[]], [other]: readonly [string, ...unknown[]]): number {
  if (one === other) return 0;
  return one < other ? -1 : 1;
}

function groupByName(files: readonly StoredFile[]): Map<string, string[]> {
  const hashes = new Map<string, string[]>();
  for (const { name, sha256 } of files) hashes.set(name, [...(hashes.get(name) ?? []), sha256]);
  return hashes;
}
