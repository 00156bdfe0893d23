import { toStableJson } from "./json-values.ts";
import type { Input, Manifest } from "./manifest.ts";

/** What a commit changes for those who call the workflow, input by input. */
export interface InputChange {
  readonly input: string;
  readonly change: "added" | "changed" | "removed";
  /** Calls that are right before may be refused after. */
  readonly breaking: boolean;
  /** For people, without the input's name: "now required", "kind integer instead of string". */
  readonly message: string;
}

/** Said of an input to people and in documents; no call is validated by them. */
const WORDS = new Set(["label", "description"]);
/** Not among the rest of a declaration: compared by name, or told in words of their own. */
const TOLD_APART = new Set(["name", "kind", "required", "default", "defaultText", ...WORDS]);

/**
 * Declared inputs that appear, disappear or are declared differently, sorted by name. Declarations are compared as JSON, so that one
 * that comes out of a database is equal to itself. Without `before` all are added, and nobody's calls break.
 */
export function findInputChanges(
  before: Pick<Manifest, "inputs"> | null,
  after: Pick<Manifest, "inputs">,
): InputChange[] {
  const old = new Map((before?.inputs ?? []).map((input) => [input.name, input]));
  const current = new Map(after.inputs.map((input) => [input.name, input]));
  const changes: InputChange[] = [];
  for (const name of [...new Set([...old.keys(), ...current.keys()])].sort()) {
    const [was, is] = [old.get(name), current.get(name)];
    if (is === undefined)
      changes.push({ input: name, change: "removed", breaking: true, message: "not known any more" });
    else if (was === undefined) changes.push(toAddition(is, before !== null));
    else if (!isSameDeclaration(was, is)) changes.push(toChange(was, is));
  }
  return changes;
}

/** A commit from before texts of defaults were kept has the same default where its value is the same. */
function isSameDeclaration(was: Input, is: Input): boolean {
  const [one, other] = [was, is].map((input) => toStableJson({ ...input, defaultText: undefined }));
  return one === other && isSameDefault(was, is);
}

function isSameDefault(was: Input, is: Input): boolean {
  const [one, other] = [was, is].map((input) => ("defaultText" in input ? input.defaultText : undefined));
  if (one !== undefined && other !== undefined) return one === other;
  return toStableJson(defaultOf(was)) === toStableJson(defaultOf(is));
}

function toAddition({ name, required }: Input, hasCallers: boolean): InputChange {
  return {
    input: name,
    change: "added",
    breaking: required && hasCallers,
    message: required ? "new and required" : "new, may be left out",
  };
}

function toChange(was: Input, is: Input): InputChange {
  const messages: string[] = [];
  const kind = was.kind !== is.kind;
  if (kind) messages.push(`kind ${is.kind} instead of ${was.kind}`);
  const stricter = is.required && !was.required;
  if (stricter) messages.push("now required");
  if (was.required && !is.required) messages.push("may be left out now");
  const bounds = !kind && toStableJson(boundsOf(was)) !== toStableJson(boundsOf(is));
  if (bounds) messages.push(`other constraints (${listDifferent(was, is).join(", ")})`);
  if (!kind && !isSameDefault(was, is)) messages.push("another default");
  if (messages.length === 0) messages.push("other words for people");
  return { input: is.name, change: "changed", breaking: kind || stricter || bounds, message: messages.join(", ") };
}

function boundsOf(input: Input): Record<string, unknown> {
  return Object.fromEntries(Object.entries(input).filter(([key]) => !TOLD_APART.has(key)));
}

function listDifferent(was: Input, is: Input): string[] {
  const [one, other] = [boundsOf(was), boundsOf(is)];
  const keys = [...new Set([...Object.keys(one), ...Object.keys(other)])];
  return keys.filter((key) => toStableJson(one[key]) !== toStableJson(other[key])).map((key) => KEYS[key] ?? key);
}

/** Of a constraint as `config.yaml` calls it. */
const KEYS: Readonly<Record<string, string>> = {
  charactersMin: "min_length",
  charactersMax: "max_length",
  bytesMax: "max_size",
  filesMax: "max_files",
};

function defaultOf(input: Input): unknown {
  return "default" in input ? input.default : null;
}
