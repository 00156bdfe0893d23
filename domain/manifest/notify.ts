import type * as z from "zod";
import { PLACE_NAME } from "../notices.ts";
import { formatDuration, parseDuration } from "./durations.ts";
import type { Problems } from "./issues.ts";
import { quote } from "./json-values.ts";
import { suggest } from "./nearest.ts";
import type { Notify, NotifySchema } from "./notify-schema.ts";

const LISTS = ["failure", "recovery", "missed"] as const;
/** One list names each place once, so this is far more than anybody needs. */
const PLACES_MAX = 20;
const SLOW_SECONDS_MAX = 86_400;

/**
 * Returns which places get notices of what; undefined where none do. Reports places that do not exist, where `known` says which do,
 * and durations that cannot be.
 */
export function toNotify(
  config: z.output<typeof NotifySchema> | undefined,
  known: ReadonlySet<string> | undefined,
  problems: Problems,
): Notify | undefined {
  if (config === undefined) return undefined;
  const read = (path: readonly string[], names: readonly string[]): readonly string[] => {
    checkPlaces(["notify", ...path], names, known, problems);
    return names;
  };
  const lists = LISTS.flatMap((key) => {
    const names = config[key];
    return names === undefined || names.length === 0 ? [] : [[key, read([key], names)] as const];
  });
  const { slow } = config;
  const told: Notify = Object.fromEntries(lists);
  if (slow === undefined) return lists.length === 0 ? undefined : told;
  return { ...told, slow: { afterSeconds: readAfter(slow.after, problems), to: read(["slow", "to"], slow.to) } };
}

/** Returns every place that is named, each once. */
export function listPlaceNames(notify: Notify | null | undefined): string[] {
  if (notify === null || notify === undefined) return [];
  return [...new Set([...LISTS.flatMap((key) => notify[key] ?? []), ...(notify.slow?.to ?? [])])];
}

/** Whether the end of a run, or how long it takes, may make a notice. Missed ticks have no run. */
export function tellsOfRuns(notify: Notify | undefined): boolean {
  return notify?.failure !== undefined || notify?.recovery !== undefined || notify?.slow !== undefined;
}

function readAfter(after: string | number, problems: Problems): number {
  const seconds = parseDuration(after);
  if (seconds !== undefined && seconds >= 1 && seconds <= SLOW_SECONDS_MAX) return seconds;
  problems.addAtValue(
    ["notify", "slow", "after"],
    `must be a duration from 1s to ${formatDuration(SLOW_SECONDS_MAX)}, such as 10m.`,
  );
  return SLOW_SECONDS_MAX;
}

function checkPlaces(
  path: readonly string[],
  names: readonly string[],
  known: ReadonlySet<string> | undefined,
  problems: Problems,
): void {
  if (names.length > PLACES_MAX)
    problems.addAtKey(path, `must name at most ${PLACES_MAX} places, not ${names.length}.`);
  for (const [index, name] of names.entries()) {
    const problem = findPlaceProblem(name, names.indexOf(name) < index, known);
    if (problem !== undefined) problems.addAtValue([...path, index], problem);
  }
}

function findPlaceProblem(
  name: string,
  isRepeated: boolean,
  known: ReadonlySet<string> | undefined,
): string | undefined {
  if (isRepeated) return `${quote(name)} is named twice. Remove one.`;
  if (!PLACE_NAME.test(name))
    return `${quote(name)} cannot be the name of a place: letters, digits, - and _, at most 40, a letter or digit first.`;
  if (known === undefined || known.has(name)) return undefined;
  return `There is no place ${quote(name)} to tell.${suggest(name, known)} Add it first: treadle notify add ${name}`;
}
