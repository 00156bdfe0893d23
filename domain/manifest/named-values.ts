import { listDeclaredSchedules } from "../schedules/names.ts";
import { flattenBody } from "./inputs.ts";
import type { Problems } from "./issues.ts";
import { isJsonObject, type JsonObject, quote } from "./json-values.ts";
import type { Input, Manifest } from "./manifest.ts";
import { suggest } from "./nearest.ts";
import { listReferences } from "./references.ts";
import { findValueProblem, findVariableNameProblem, VARIABLES_MAX } from "./variable-names.ts";

/** The names that are set for a workflow. */
export interface SetNames {
  readonly secrets: ReadonlySet<string>;
  readonly variables: ReadonlySet<string>;
  /** Names of the account's places to tell; undefined where nobody has asked. */
  readonly places?: ReadonlySet<string>;
  /** Names of the account's destinations; undefined where nobody has asked. */
  readonly destinations?: ReadonlySet<string>;
}

/** What a manifest says of the environment of its programs. Missing parts name nothing. */
export interface NamingParts {
  readonly secrets?: readonly string[] | null | undefined;
  readonly env?: Readonly<Record<string, string>> | null | undefined;
  readonly payload?: unknown;
}

const [SECRETS, VARIABLES] = ["secrets.", "vars."];

export function toNamingParts({ secrets, env, triggers }: Manifest): NamingParts {
  return { secrets, env, payload: listDeclaredSchedules({ triggers }).map(({ schedule }) => schedule.payload) };
}

/** Returns the secrets and variables that a manifest names. */
export function listNamedValues({ secrets, env, payload }: NamingParts): SetNames {
  const inPayload = listNamed(payload, SECRETS);
  return { secrets: new Set([...(secrets ?? []), ...inPayload]), variables: new Set(listNamed(env ?? {}, VARIABLES)) };
}

function listNamed(value: unknown, prefix: string): string[] {
  return listReferences(value).flatMap(({ name }) => (name?.startsWith(prefix) ? [name.slice(prefix.length)] : []));
}

/** Returns the inputs that a payload feeds with a secret, and which: the whole value is `${{ secrets.NAME }}`. */
export function listFedInputs(inputs: readonly Input[], payload: JsonObject): ReadonlyMap<string, string> {
  const flat = flattenBody({ inputs }, payload);
  if (!isJsonObject(flat)) return new Map();
  const fed = inputs.flatMap(({ name, kind }) => {
    const [first] = kind === "secret" && Object.hasOwn(flat, name) ? listReferences(flat[name]) : [];
    const isFed = first !== undefined && first.isWhole && first.name?.startsWith(SECRETS) === true;
    return isFed ? [[name, (first.name as string).slice(SECRETS.length)] as const] : [];
  });
  return new Map(fed);
}

/** Returns the names of `secrets`, each once. Reports those that cannot be set or are not. */
export function toSecrets(
  given: readonly string[] | undefined,
  set: SetNames | undefined,
  problems: Problems,
): string[] {
  const names = given ?? [];
  if (names.length > VARIABLES_MAX)
    problems.addAtKey(["secrets"], `must name at most ${VARIABLES_MAX} secrets, not ${names.length}.`);
  for (const [index, name] of names.entries()) {
    const isRepeated = names.indexOf(name) < index;
    const problem = isRepeated ? `${quote(name)} is named twice. Remove one.` : findVariableNameProblem(name);
    if (problem !== undefined) problems.addAtValue(["secrets", index], problem);
    else reportMissing("secret", name, { set, at: ["secrets", index], problems });
  }
  return [...names];
}

/** Returns the texts of `env`. Reports names and references that there cannot be. */
export function toVariables(
  given: Readonly<Record<string, string>> | undefined,
  { secrets, set, problems }: { secrets: readonly string[]; set: SetNames | undefined; problems: Problems },
): Record<string, string> {
  const entries = Object.entries(given ?? {});
  if (entries.length > VARIABLES_MAX)
    problems.addAtKey(["env"], `must have at most ${VARIABLES_MAX} variables, not ${entries.length}.`);
  for (const [name, value] of entries) {
    const both = secrets.includes(name) ? `${quote(name)} is in secrets, too. Remove one.` : undefined;
    const nameProblem = findVariableNameProblem(name) ?? both;
    if (nameProblem !== undefined) problems.addAtKey(["env", name], nameProblem);
    const valueProblem = value === "" ? undefined : findValueProblem(value);
    if (valueProblem !== undefined) problems.addAtValue(["env", name], valueProblem);
    for (const reference of listReferences(value)) {
      const at = ["env", name];
      if (reference.name?.startsWith(VARIABLES))
        reportMissing("variable", reference.name.slice(VARIABLES.length), { set, at, problems });
      else problems.addAtValue(at, explainReference(reference.name));
    }
  }
  return Object.fromEntries(entries);
}

function explainReference(name: string | null): string {
  if (name === null) return "${{ has no }} after it on the same line.";
  if (name.startsWith(SECRETS))
    return `A secret is named in the list secrets, and has its own name in the environment: secrets: [${name.slice(SECRETS.length)}].`;
  return `There is no variable ${quote(name)} here. A value of env may name variables of the account, such as \${{ vars.LEVEL }}.`;
}

/** Reports a secret of a payload that cannot be there, or is not set. */
export function checkSecretReference(
  { name, isFed }: { readonly name: string; readonly isFed: boolean },
  { set, at, problems }: { set: SetNames | undefined; at: readonly (string | number)[]; problems: Problems },
): void {
  if (!isFed)
    problems.addAtValue(
      at,
      `A secret goes to an input of type secret, which must be exactly \${{ ${name} }}: other inputs are stored readable.`,
    );
  else reportMissing("secret", name.slice(SECRETS.length), { set, at, problems });
}

export function isSecretReference(name: string): boolean {
  return name.startsWith(SECRETS);
}

function reportMissing(
  kind: "secret" | "variable",
  name: string,
  { set, at, problems }: { set: SetNames | undefined; at: readonly (string | number)[]; problems: Problems },
): void {
  const names = kind === "secret" ? set?.secrets : set?.variables;
  if (names === undefined || names.has(name)) return;
  const command = kind === "secret" ? "secrets" : "vars";
  problems.addAtValue(
    at,
    `There is no ${kind} ${quote(name)} for this workflow.${suggest(name, names)} Set it first: treadle ${command} set ${name.slice(0, 100)}`,
  );
}
