import { parseCron } from "../cron/cron.ts";
import { checkTimeZone } from "../cron/time-zones.ts";
import { RETRIED_ENDS, RETRY_DELAY_SECONDS_MAX } from "../retries.ts";
import { TICK_VARIABLES, toTickValues } from "../schedules/tick-values.ts";
import { DEFAULT_BOUNDS, type ManifestBounds, scratchOnDisk } from "./bounds.ts";
import { createCheckBudget } from "./check-budget.ts";
import { formatDuration } from "./durations.ts";
import { flattenBody, parseInputs, splitBody } from "./inputs.ts";
import type { Problems } from "./issues.ts";
import { type JsonObject, quote } from "./json-values.ts";
import type { Concurrency, Input, Limits, Output, Retry, Schedule } from "./manifest.ts";
import { checkSecretReference, isSecretReference, listFedInputs, type SetNames } from "./named-values.ts";
import { findOutputNameProblem } from "./names.ts";
import { suggest } from "./nearest.ts";
import { toNetwork } from "./network.ts";
import { listReferences, replaceInText, replaceReferences } from "./references.ts";
import type { Config, LimitsConfig, ScheduleConfig } from "./schema.ts";
import { formatSize } from "./sizes.ts";

const BACKOFF_MAX = 10;

const LATENESS_SECONDS_DEFAULT = 3_600;

/** Temporal's own least catch-up window. */
const LATENESS_SECONDS_MIN = 10;

const NETWORK_UNAVAILABLE =
  "This installation cannot give executions access to the network yet. Remove the line, or write network: false.";

/** Limits within what the installation allows; what is not is reported. */
export function toLimits(
  config: LimitsConfig | undefined,
  options: {
    bounds: ManifestBounds;
    networkAvailable: boolean;
    scratchProblem: string | undefined;
    setNames: SetNames | undefined;
  },
  problems: Problems,
): Limits {
  const { bounds, networkAvailable, scratchProblem, setNames } = options;
  const limits: Limits = {
    timeoutSeconds: config?.timeout ?? Math.min(bounds.timeoutSecondsDefault, bounds.timeoutSecondsMax),
    memoryBytes: config?.memory ?? Math.min(bounds.memoryBytesDefault, bounds.memoryBytesMax),
    cpu: config?.cpu ?? Math.min(bounds.cpuDefault, bounds.cpuMax),
    ...(config?.processes === undefined ? {} : { processes: config.processes }),
    ...(config?.open_files === undefined ? {} : { openFiles: config.open_files }),
    ...(config?.scratch === undefined ? {} : { scratchBytes: config.scratch }),
    network: toNetwork(config?.network, setNames?.destinations, problems),
  };
  const { timeoutSeconds, memoryBytes, cpu, processes, openFiles, scratchBytes } = limits;
  const check = createCeilingCheck(bounds, problems);
  check("timeout", timeoutSeconds, 1, "timeoutSecondsMax", formatDuration);
  check("memory", memoryBytes, bounds.memoryBytesMin, "memoryBytesMax", formatSize);
  check("cpu", cpu, bounds.cpuMin, "cpuMax", String);
  if (processes !== undefined) check("processes", processes, bounds.processesMin, "processesMax", String);
  if (openFiles !== undefined) check("open_files", openFiles, bounds.openFilesMin, "openFilesMax", String);
  if (scratchBytes !== undefined)
    check("scratch", scratchBytes, bounds.scratchBytesDefault, "scratchBytesMax", formatSize);
  if (scratchProblem !== undefined && scratchOnDisk(limits, bounds.scratchBytesMax) > 0)
    problems.addAtValue(
      ["limits", "scratch"],
      `must be at most limits.memory (${formatSize(memoryBytes)}): this installation has no disks for more. ${scratchProblem}`,
    );
  if (limits.network && !networkAvailable) problems.addAtValue(["limits", "network"], NETWORK_UNAVAILABLE);
  return limits;
}

/** The operator's setting of each ceiling. */
const CEILINGS = {
  timeoutSecondsMax: "TREADLE_TIMEOUT_SECONDS_MAX",
  memoryBytesMax: "TREADLE_MEMORY_BYTES_MAX",
  cpuMax: "TREADLE_CPU_MAX",
  processesMax: "TREADLE_PROCESSES_MAX",
  openFilesMax: "TREADLE_OPEN_FILES_MAX",
  scratchBytesMax: "TREADLE_SCRATCH_BYTES_MAX",
} as const;

function createCeilingCheck(bounds: ManifestBounds, problems: Problems) {
  return (
    key: keyof LimitsConfig,
    value: number,
    least: number,
    ceiling: keyof typeof CEILINGS,
    format: (value: number) => string,
  ): void => {
    const most = bounds[ceiling];
    if (value >= least && value <= most) return;
    const isRaisable = value > most && most < DEFAULT_BOUNDS[ceiling];
    const advice = isRaisable ? ` The operator can allow more with ${CEILINGS[ceiling]}.` : "";
    problems.addAtValue(["limits", key], `must be from ${format(least)} to ${format(most)}.${advice}`);
  };
}

export function toOutputs(config: Config["outputs"], problems: Problems): Output[] {
  const names = Object.keys(config ?? {});
  if (names.length > 1_000) problems.addAtKey(["outputs"], "must declare at most 1000 outputs.");
  return Object.entries(config ?? {}).map(([name, output]) => {
    const problem = findOutputNameProblem(name);
    if (problem !== undefined) problems.addAtKey(["outputs", name], problem);
    return {
      name,
      kind: "file",
      label: output.label ?? name,
      description: output.description ?? "",
      required: output.required ?? true,
    };
  });
}

/** How often an execution is tried, after which ends, and with which waits between. */
export function toRetry(config: Config["retry"], bounds: ManifestBounds, problems: Problems): Retry {
  const { max_attempts: attemptsMax = 1, delay, backoff, on } = config ?? {};
  const report = (key: string, message: string): void => problems.addAtValue(["retry", key], message);
  if (attemptsMax < 1 || attemptsMax > bounds.attemptsMax)
    report("max_attempts", `must be from 1 to ${bounds.attemptsMax}.`);
  if (delay !== undefined && delay > RETRY_DELAY_SECONDS_MAX)
    report("delay", `must be at most ${formatDuration(RETRY_DELAY_SECONDS_MAX)}.`);
  if (backoff !== undefined && (backoff < 1 || backoff > BACKOFF_MAX))
    report("backoff", `must be from 1 to ${BACKOFF_MAX}.`);
  if (backoff !== undefined && delay === undefined)
    problems.addAtKey(["retry", "backoff"], "needs a delay that it multiplies, such as delay: 30s.");
  if (on?.length === 0) report("on", `must name at least one of ${RETRIED_ENDS.join(", ")}.`);
  for (const key of ["delay", "backoff", "on"] as const)
    if (config?.[key] !== undefined && attemptsMax === 1)
      problems.addAtKey(["retry", key], "has no effect without max_attempts: 2 or more.");
  return {
    attemptsMax,
    ...(delay === undefined ? {} : { delaySeconds: delay }),
    ...(backoff === undefined ? {} : { backoff }),
    ...(on === undefined ? {} : { on: [...new Set(on)] }),
  };
}

export function toConcurrency(
  config: Config["concurrency"],
  bounds: ManifestBounds,
  problems: Problems,
): Concurrency | null {
  if (!config) return null;
  if (config.max < 1 || config.max > bounds.executionsMax)
    problems.addAtValue(["concurrency", "max"], `must be from 1 to ${bounds.executionsMax}.`);
  return { executionsMax: config.max, whenFull: config.when_full ?? "queue" };
}

/** The schedule at `path` with its cron expression and zone checked; a disabled one like an enabled one. */
export function toSchedule(
  config: ScheduleConfig,
  { path, bounds }: { path: readonly string[]; bounds: ManifestBounds },
  problems: Problems,
): Schedule {
  const report = (key: string, message: string): void => problems.addAtValue([...path, key], message);
  const parsed = parseCron(config.cron);
  if (!parsed.ok)
    for (const problem of parsed.problems)
      report(
        "cron",
        `At character ${problem.position} of ${JSON.stringify(config.cron.slice(0, 100))}: ${problem.message}`,
      );
  const timezone = config.timezone ?? "UTC";
  const zone = checkTimeZone(timezone);
  if (!zone.ok) report("timezone", zone.message);
  const maxLatenessSeconds = config.max_lateness ?? LATENESS_SECONDS_DEFAULT;
  if (maxLatenessSeconds < LATENESS_SECONDS_MIN || maxLatenessSeconds > bounds.latenessSecondsMax) {
    report(
      "max_lateness",
      `must be from ${formatDuration(LATENESS_SECONDS_MIN)} to ${formatDuration(bounds.latenessSecondsMax)}.`,
    );
  }
  const jitterSeconds = config.jitter ?? 0;
  if (jitterSeconds > bounds.jitterSecondsMax)
    report("jitter", `must be at most ${formatDuration(bounds.jitterSecondsMax)}.`);
  return {
    enabled: config.enabled,
    cron: parsed.ok ? parsed.cron.text : config.cron,
    timezone,
    payload: (config.payload ?? {}) as JsonObject,
    overlap: config.overlap ?? "skip",
    catchup: config.catchup ?? "latest",
    maxLatenessSeconds,
    jitterSeconds,
  };
}

/** Stands for any tick where a payload is checked: its times are those of the next year as well as of the last. */
const SAMPLE_TICK = toTickValues({
  nominalAt: new Date("2026-03-29T01:00:00Z"),
  previousAt: new Date("2026-03-28T01:30:00Z"),
  timezone: "Europe/Berlin",
});

/** Whether a payload names only what there is. `fed` are the inputs that a secret goes to. */
function checkReferences(
  payload: JsonObject,
  {
    path,
    fed,
    set,
    problems,
  }: {
    path: readonly string[];
    fed: ReadonlyMap<string, string>;
    set: SetNames | undefined;
    problems: Problems;
  },
): boolean {
  const before = problems.count();
  for (const { name, path: inside } of listReferences(payload)) {
    const at = [...path, ...inside];
    if (name === null) problems.addAtValue(at, "${{ has no }} after it on the same line.");
    else if (isSecretReference(name))
      checkSecretReference({ name, isFed: fed.has(String(inside[0])) }, { set, at, problems });
    else if (!TICK_VARIABLES.some((one) => one === name)) {
      const hint = `${suggest(name, TICK_VARIABLES)} A payload may name ${TICK_VARIABLES.join(", ")}.`;
      problems.addAtValue(at, `There is no variable ${quote(name)}.${hint}`);
    }
  }
  return problems.count() === before;
}

/** Whether the time of a tick is within the range of an input is known when the tick comes. */
function withoutRange(input: Input): Input {
  return input.kind === "date" || input.kind === "datetime" ? { ...input, min: null, max: null } : input;
}

/**
 * Checks that a scheduled execution could start: the payload fits the declared inputs, and none is required that a
 * payload cannot carry. `unreadable` names inputs whose declarations have problems of their own.
 */
export function checkPayload(
  given: Pick<Schedule, "payload"> & { readonly payloadText: string | undefined; readonly path: readonly string[] },
  declared: { inputs: readonly Input[]; unreadable: ReadonlySet<string>; setNames: SetNames | undefined },
  problems: Problems,
): void {
  const { payload, payloadText, path } = given;
  const fed = listFedInputs(declared.inputs, payload);
  if (!checkReferences(flattenBody(declared, payload) as JsonObject, { path, fed, set: declared.setNames, problems }))
    return;
  const named = new Set(listReferences(flattenBody(declared, payload)).map((reference) => String(reference.path[0])));
  const inputs = declared.inputs
    .filter(({ name }) => !fed.has(name))
    .map((input) => (named.has(input.name) ? withoutRange(input) : input));
  const flat = flattenBody({ inputs }, replaceReferences(payload, SAMPLE_TICK)) as JsonObject;
  const carried = Object.fromEntries(
    Object.entries(flat).filter(([name]) => !declared.unreadable.has(name) && !fed.has(name)),
  );
  const texts =
    payloadText === undefined ? {} : splitBody({ inputs }, payload, replaceInText(payloadText, SAMPLE_TICK));
  const result = parseInputs({ inputs }, carried, {}, createCheckBudget(), texts);
  const refused = new Set<string>();
  for (const { name, kind, required } of inputs) {
    if (kind !== "file" && kind !== "file_list" && kind !== "secret") continue;
    const isGiven = Object.hasOwn(flat, name) && flat[name] !== null;
    if (!required && !isGiven) continue;
    refused.add(name);
    const message =
      kind === "secret"
        ? `A schedule cannot carry secrets, because config.yaml is stored readable. Name one that is set: ${name}: \${{ secrets.NAME }}`
        : `A schedule cannot carry files. Declare ${name} with required: false and leave it out, or remove the schedule.`;
    problems.addAtValue([...path, name], message);
  }
  if (result.ok) return;
  for (const { input, message } of result.problems) {
    if (refused.has(input)) continue;
    const isUndeclared = !declared.inputs.some(({ name }) => name === input);
    if (isUndeclared) problems.addAtKey([...path, input], message);
    else problems.addAtValue([...path, input], message);
  }
}
