import type { ExecutionWork } from "../db/executions/attempts.ts";
import type { Input, Manifest } from "../domain/manifest/manifest.ts";
import { listFedInputs, listNamedValues, type SetNames, toNamingParts } from "../domain/manifest/named-values.ts";
import { replaceInText } from "../domain/manifest/references.ts";
import { checkValue } from "../domain/manifest/values.ts";
import { findDeclaredSchedule, MAIN_SCHEDULE } from "../domain/schedules/names.ts";

/** The secrets and variables that an attempt named, by name. Those that are not set are missing. */
export interface TakenValues {
  readonly secrets: ReadonlyMap<string, string>;
  readonly variables: ReadonlyMap<string, string>;
}

/** Takes what an attempt names, and notes with it which versions that were. */
export type TakeValues = (work: ExecutionWork, names: SetNames) => Promise<TakenValues>;

export type RunValues =
  | {
      readonly ok: true;
      /** Of the environment of its program. */
      readonly variables: Readonly<Record<string, string>>;
      /** Inputs that its schedule feeds with a secret. */
      readonly inputs: Readonly<Record<string, string>>;
      readonly secrets: readonly string[];
    }
  | { readonly ok: false; readonly message: string };

/** Returns what an attempt gets besides its inputs, or why its program cannot begin. One without secrets and variables asks for none. */
export async function findRunValues(takeValues: TakeValues, work: ExecutionWork): Promise<RunValues> {
  const manifest = work.manifest as Manifest;
  const { secrets: list = [], env = {} } = manifest;
  const schedule = findDeclaredSchedule(manifest, work.tick?.scheduleName ?? MAIN_SCHEDULE);
  const fed =
    work.trigger === "schedule" && schedule !== undefined
      ? listFedInputs(manifest.inputs, schedule.payload)
      : new Map<string, string>();
  const parts = toNamingParts(manifest);
  const names = listNamedValues({ secrets: [...list, ...fed.values()], env: parts.env });
  const taken =
    names.secrets.size + names.variables.size === 0
      ? { secrets: new Map<string, string>(), variables: new Map<string, string>() }
      : await takeValues(work, names);
  const missing =
    explainMissing("secret", "secrets", names.secrets, taken.secrets) ??
    explainMissing("variable", "vars", names.variables, taken.variables);
  if (missing !== undefined) return { ok: false, message: missing };
  const inputs = Object.fromEntries([...fed].map(([input, name]) => [input, taken.secrets.get(name) as string]));
  const unfit = findUnfit(manifest.inputs, inputs, fed);
  if (unfit !== undefined) return { ok: false, message: unfit };
  const ofVariables = new Map([...taken.variables].map(([name, value]) => [`vars.${name}`, value]));
  const variables = Object.fromEntries([
    ...Object.entries(env).map(([name, text]) => [name, replaceInText(text, ofVariables)]),
    ...list.map((name) => [name, taken.secrets.get(name) as string]),
  ]);
  return { ok: true, variables, inputs, secrets: [...taken.secrets.values()] };
}

function explainMissing(
  kind: string,
  command: string,
  wanted: ReadonlySet<string>,
  taken: ReadonlyMap<string, string>,
): string | undefined {
  const missing = [...wanted].find((name) => !taken.has(name));
  return missing && `There is no ${kind} ${missing} any more. Set it: treadle ${command} set ${missing}`;
}

/** Publishing has not seen the value. What is wrong with it is said without it. */
function findUnfit(
  inputs: readonly Input[],
  values: Readonly<Record<string, string>>,
  fed: ReadonlyMap<string, string>,
): string | undefined {
  for (const input of inputs) {
    const value = input.kind === "secret" ? values[input.name] : undefined;
    if (value === undefined || input.kind !== "secret" || checkValue(input, value).length === 0) continue;
    return `The secret ${fed.get(input.name)} does not fit the input ${input.name}: its length or its pattern is another.`;
  }
  return undefined;
}
