import type { FileProblem } from "../errors.ts";
import { MAIN_SCHEDULE, NAMED_SCHEDULES_MAX, SCHEDULE_NAME } from "../schedules/names.ts";
import { DEFAULT_BOUNDS, type ManifestBounds } from "./bounds.ts";
import { toInput } from "./declarations.ts";
import { type PlacedProblem, readConfigDocument } from "./document.ts";
import { createProblems, type Problems, reportIssues } from "./issues.ts";
import { isJsonObject } from "./json-values.ts";
import type { Input, Manifest, NamedSchedule, Schedule } from "./manifest.ts";
import { type SetNames, toSecrets, toVariables } from "./named-values.ts";
import { findEntrypointProblem, findInputNameProblem } from "./names.ts";
import { toNotify } from "./notify.ts";
import type { Places } from "./positions.ts";
import { keepReadable } from "./repair.ts";
import { type Config, ConfigSchema, type ScheduleConfig } from "./schema.ts";
import { checkPayload, toConcurrency, toLimits, toOutputs, toRetry, toSchedule } from "./sections.ts";

export interface ManifestOptions {
  /** The name in the problems: `config.yaml` unless given. */
  readonly fileName?: string;
  readonly bounds?: ManifestBounds | undefined;
  /** False while the installation cannot give executions a network: `limits.network: true` is then refused at its line. */
  readonly networkAvailable?: boolean;
  /** Why the installation has no disks for scratch folders: more than memory can hold is then refused at its line. */
  readonly scratchProblem?: string | undefined;
  /** The minor versions of Python that the installation has, such as 3.12: another is then refused at its line. */
  readonly pythonVersions?: readonly string[] | undefined;
  /** The secrets and variables that are set for the workflow: others are then refused at their line. */
  readonly setNames?: SetNames | undefined;
}

export type ManifestResult =
  | { readonly ok: true; readonly manifest: Manifest }
  | { readonly ok: false; readonly problems: readonly FileProblem[] };

const PROBLEMS_MAX = 200;

/** Sections that may stand empty ("limits:" and nothing after it), which YAML reads as null. */
const SECTIONS = new Set(["inputs", "outputs", "limits", "retry", "concurrency", "triggers", "notify"]);

/**
 * Reads a `config.yaml`. Refuses what it does not know or cannot keep. Every problem has its line and column (from 1),
 * in the order of the file, at most 200. Believes nothing of the text: it may be hostile.
 */
export function parseManifest(source: string, options: ManifestOptions = {}): ManifestResult {
  const {
    fileName = "config.yaml",
    bounds = DEFAULT_BOUNDS,
    networkAvailable = true,
    scratchProblem,
    pythonVersions,
    setNames,
  } = options;
  const document = readConfigDocument(source, bounds.configBytesMax);
  const found: PlacedProblem[] = [...document.problems];
  const problems = createProblems(document.places, found);
  const manifest = document.readable
    ? readConfig(
        dropNulls(document.value ?? {}),
        { bounds, networkAvailable, scratchProblem, pythonVersions, setNames, textOf: document.places.textOf },
        problems,
      )
    : undefined;
  if (manifest && found.length === 0) return { ok: true, manifest };
  return { ok: false, problems: sortProblems(found).map((problem) => ({ file: fileName, ...problem })) };
}

type ReadOptions = {
  bounds: ManifestBounds;
  networkAvailable: boolean;
  scratchProblem: string | undefined;
  pythonVersions: readonly string[] | undefined;
  setNames: SetNames | undefined;
  textOf: Places["textOf"];
};

/** The manifest of what is readable; it is the whole one when no problem was reported. */
function readConfig(data: unknown, options: ReadOptions, problems: Problems): Manifest {
  const parsed = ConfigSchema.safeParse(data);
  if (!parsed.success) reportIssues(parsed.error.issues, data, problems);
  const unreadable = checkInputNames(data, problems);
  const config = parsed.success ? parsed.data : keepReadable(data, parsed.error.issues);
  const inputs = readInputs(config.inputs ?? {}, options, problems);

  const entrypoint = config.entrypoint ?? "main.py";
  const entrypointProblem = findEntrypointProblem(entrypoint);
  if (entrypointProblem !== undefined) problems.addAtValue(["entrypoint"], entrypointProblem);
  checkPython(config.python, options.pythonVersions, problems);
  // A payload for an input whose own declaration is wrong is neither right nor wrong.
  for (const name of listDeclared(data)) if (!inputs.some((input) => input.name === name)) unreadable.add(name);
  for (const issue of parsed.error?.issues ?? []) if (issue.path[0] === "inputs") unreadable.add(String(issue.path[1]));
  const sound = inputs.filter((input) => !unreadable.has(input.name));
  const { setNames, bounds, textOf } = options;
  const readSchedule = (given: ScheduleConfig, place: readonly string[]): Schedule => {
    const schedule = toSchedule(given, { path: place, bounds }, problems);
    const path = [...place, "payload"];
    const payloadText = textOf(path);
    checkPayload({ payload: schedule.payload, payloadText, path }, { inputs: sound, unreadable, setNames }, problems);
    return withText(schedule, inputs, payloadText);
  };
  const { schedule, schedules } = config.triggers ?? {};
  const named = readNamedSchedules(schedules ?? {}, readSchedule, problems);
  const secrets = toSecrets(config.secrets, setNames, problems);
  const env = toVariables(config.env, { secrets, set: setNames, problems });
  const notify = toNotify(config.notify, setNames?.places, problems);
  return {
    name: config.name ?? null,
    description: config.description ?? "",
    entrypoint,
    ...(config.arguments === undefined ? {} : { arguments: config.arguments }),
    python: config.python ?? null,
    build: config.build ?? "wheels",
    inputs,
    outputs: toOutputs(config.outputs, problems),
    ...(secrets.length === 0 ? {} : { secrets }),
    ...(Object.keys(env).length === 0 ? {} : { env }),
    limits: toLimits(config.limits, options, problems),
    retry: toRetry(config.retry, options.bounds, problems),
    concurrency: toConcurrency(config.concurrency, options.bounds, problems),
    triggers: {
      api: config.triggers?.api ?? null,
      schedule: schedule ? readSchedule(schedule, ["triggers", "schedule"]) : null,
      ...(named.length === 0 ? {} : { schedules: named }),
    },
    ...(notify === undefined ? {} : { notify }),
  };
}

function readNamedSchedules(
  declared: Readonly<Record<string, ScheduleConfig>>,
  read: (given: ScheduleConfig, path: readonly string[]) => Schedule,
  problems: Problems,
): NamedSchedule[] {
  const path = ["triggers", "schedules"];
  const entries = Object.entries(declared);
  if (entries.length > NAMED_SCHEDULES_MAX)
    problems.addAtKey(path, `must have at most ${NAMED_SCHEDULES_MAX} schedules, not ${entries.length}.`);
  return entries.map(([name, given]) => {
    if (name === MAIN_SCHEDULE)
      problems.addAtKey([...path, name], "is the name of triggers.schedule. Choose another one.");
    else if (!SCHEDULE_NAME.test(name))
      problems.addAtKey(
        [...path, name],
        "is no name of a schedule: a small letter, then up to 39 small letters, digits, hyphens and underscores, such as nightly.",
      );
    return { name, ...read(given, [...path, name]) };
  });
}

function withText(schedule: Schedule, inputs: readonly Input[], payloadText: string | undefined): Schedule {
  const hasJson = inputs.some(({ kind }) => kind === "json") && Object.keys(schedule.payload).length > 0;
  return hasJson && payloadText !== undefined ? { ...schedule, payloadText } : schedule;
}

function checkPython(wanted: string | undefined, versions: readonly string[] | undefined, problems: Problems): void {
  if (wanted === undefined || versions === undefined || versions.includes(wanted)) return;
  const there = [versions.slice(0, -1).join(", "), versions.at(-1)].filter((part) => part !== "").join(" and ");
  problems.addAtValue(
    ["python"],
    `There is no Python ${wanted} on this installation, which has ${there}. Ask for what there is, or let its operator install Python ${wanted}; nothing is downloaded.`,
  );
}

function readInputs(
  declared: NonNullable<Config["inputs"]>,
  { bounds, textOf }: ReadOptions,
  problems: Problems,
): Input[] {
  const entries = Object.entries(declared);
  if (entries.length > bounds.inputsMax)
    problems.addAtKey(["inputs"], `must declare at most ${bounds.inputsMax} inputs, not ${entries.length}.`);
  return entries.flatMap(([name, declaration]) => toInput(name, declaration, bounds, { problems, textOf }) ?? []);
}

function listDeclared(data: unknown): string[] {
  const declared = isJsonObject(data) ? data["inputs"] : undefined;
  return isJsonObject(declared) ? Object.keys(declared) : [];
}

/** Names are looked at apart from what they declare, so that a wrong declaration does not hide a wrong name. Answers the wrong ones. */
function checkInputNames(data: unknown, problems: Problems): Set<string> {
  const wrong = new Set<string>();
  for (const name of listDeclared(data)) {
    const problem = findInputNameProblem(name);
    if (problem === undefined) continue;
    wrong.add(name);
    problems.addAtKey(["inputs", name], problem);
  }
  return wrong;
}

/** `key:` with nothing after it means that the key was not given; a declaration, trigger or list entry must not be empty. */
function dropNulls(config: unknown): unknown {
  if (!isJsonObject(config)) return config;
  const sections = Object.entries(config).filter(([, section]) => section !== null);
  return Object.fromEntries(
    sections.map(([key, section]) => [key, SECTIONS.has(key) ? dropSectionNulls(key, section) : section]),
  );
}

function dropSectionNulls(key: string, section: unknown): unknown {
  if (!isJsonObject(section)) return section;
  if (key === "outputs")
    return Object.fromEntries(Object.entries(section).map(([name, output]) => [name, dropKeyNulls(output ?? {})]));
  if (key === "triggers")
    return Object.fromEntries(
      Object.entries(section).map(([name, part]) => [
        name,
        name === "schedules" && isJsonObject(part)
          ? Object.fromEntries(Object.entries(part).map(([one, schedule]) => [one, dropKeyNulls(schedule)]))
          : dropKeyNulls(part),
      ]),
    );
  if (key === "inputs")
    return Object.fromEntries(Object.entries(section).map(([name, part]) => [name, dropKeyNulls(part)]));
  return dropKeyNulls(section);
}

function dropKeyNulls(part: unknown): unknown {
  return isJsonObject(part) ? Object.fromEntries(Object.entries(part).filter(([, value]) => value !== null)) : part;
}

/** In the order of the file, each once, and not more than anybody reads. */
function sortProblems(found: readonly PlacedProblem[]): PlacedProblem[] {
  const distinct = new Map(found.map((problem) => [`${problem.line}:${problem.column}:${problem.message}`, problem]));
  const sorted = [...distinct.values()].toSorted((one, other) => one.line - other.line || one.column - other.column);
  const shown = sorted.slice(0, PROBLEMS_MAX);
  const last = shown.at(-1);
  if (!last || sorted.length === shown.length) return shown;
  return [
    ...shown,
    {
      line: last.line,
      column: last.column,
      message: `There are ${sorted.length - shown.length} more problems after this one.`,
    },
  ];
}
