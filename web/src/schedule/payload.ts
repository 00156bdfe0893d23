import { writeObject } from "../../../domain/manifest/json-text.ts";
import { type JsonObject, toStableJson } from "../../../domain/manifest/json-values.ts";
import type { Input } from "../../../domain/manifest/manifest.ts";
import { listReferences } from "../../../domain/manifest/references.ts";
import { isFileInput } from "../../../domain/manifest/values.ts";
import type { ReadForm } from "../form/values.ts";

/** The payload of a schedule, as far as a form can change it. */
export interface PayloadParts {
  /** Inputs that have a control. */
  readonly inputs: readonly Input[];
  /** Values that stay as they are: they name a tick or a secret, or are for what is no input any more. */
  readonly kept: JsonObject;
  /** Inputs of files that every run needs. No schedule has them. */
  readonly missing: readonly Input[];
  /** Values that the controls begin with. */
  readonly given: JsonObject;
}

/** Returns which inputs a schedule's form asks for. A schedule has no files; secrets are named in `config.yaml`, and not written here. */
export function splitPayload(inputs: readonly Input[], payload: JsonObject): PayloadParts {
  const isNamed = (name: string): boolean => listReferences(payload[name]).length > 0;
  const asked = inputs.filter((input) => !isFileInput(input) && input.kind !== "secret" && !isNamed(input.name));
  const names = new Set(asked.map(({ name }) => name));
  const pick = (isAsked: boolean): JsonObject =>
    Object.fromEntries(Object.entries(payload).filter(([name]) => names.has(name) === isAsked));
  const missing = inputs.filter((input) => isFileInput(input) && input.required);
  return { inputs: asked, missing, kept: pick(false), given: pick(true) };
}

/** Returns the payload as JSON text. A default is not repeated, unless the payload had it before. */
export function joinPayload({ inputs, kept, given }: PayloadParts, form: ReadForm): string {
  const defaults = new Map(inputs.map((input) => [input.name, "default" in input ? input.default : null]));
  const isOwn = ([name, value]: [string, unknown]): boolean =>
    Object.hasOwn(given, name) || toStableJson(value) !== toStableJson(defaults.get(name) ?? null);
  const values = Object.fromEntries(Object.entries(form.values).filter(isOwn));
  return writeObject({ ...values, ...kept }, form.texts);
}
