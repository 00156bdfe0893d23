import type * as z from "zod";
import { isJsonObject } from "./json-values.ts";
import type { Path } from "./positions.ts";
import { type Config, ConfigSchema } from "./schema.ts";

/** What stands for a required key that is missing or wrong, so that the keys beside it can still be checked. */
const STAND_INS: ReadonlyMap<string, unknown> = new Map<string, unknown>([
  ["triggers.api.enabled", false],
  ["triggers.schedule.enabled", false],
  ["triggers.schedule.cron", "0 0 * * *"],
  ["concurrency.max", 1],
]);

/** A named schedule has the same as `triggers.schedule`. */
function standInOf(path: Path): unknown {
  const [first, second] = path;
  const isNamed = first === "triggers" && second === "schedules" && path.length > 3;
  const like: Path = isNamed ? ["triggers", "schedule", ...path.slice(3)] : path;
  return STAND_INS.get(like.join("."));
}

/** Each round removes something; a round beyond the depth of a config would mean that nothing was. */
const ROUNDS_MAX = 10;

/**
 * What is left of a broken config when everything that `issues` name is taken out: its remaining problems can then be
 * reported together with theirs.
 */
export function keepReadable(data: unknown, issues: readonly z.core.$ZodIssue[]): Config {
  let rest: unknown = data;
  let open = issues;
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    rest = takeOut(rest, open.flatMap(pathsOf));
    const parsed = ConfigSchema.safeParse(rest);
    if (parsed.success) return parsed.data;
    open = parsed.error.issues;
  }
  return {};
}

/** Lists go as a whole: taking out one entry would move the others. */
function pathsOf(issue: z.core.$ZodIssue): Path[] {
  const path = issue.path.filter((step) => typeof step !== "symbol");
  if (issue.code === "unrecognized_keys") return issue.keys.map((key) => [...path, key]);
  const index = path.findIndex((step) => typeof step === "number");
  return [index < 0 ? path : path.slice(0, index)];
}

/**
 * A copy of `data` without the values at the paths; without the parent where there is no such value, because it is
 * required. All paths in one pass: a file may hold thousands of wrong keys.
 */
function takeOut(data: unknown, paths: readonly Path[], done: Path = []): unknown {
  if (!isJsonObject(data)) return {};
  const deeper = new Map<string, Path[]>();
  for (const [step, ...rest] of paths) {
    if (step === undefined) return {};
    const known = deeper.get(String(step));
    if (known) known.push(rest);
    else deeper.set(String(step), [rest]);
  }
  const kept: [string, unknown][] = [];
  for (const key of new Set([...Object.keys(data), ...deeper.keys()])) {
    const rests = deeper.get(key);
    const here = [...done, key];
    const standIn = standInOf(here);
    if (!rests) kept.push([key, data[key]]);
    else if (standIn !== undefined) kept.push([key, standIn]);
    else if (!rests.some((rest) => rest.length === 0 || isRequired(data[key], rest, here))) {
      kept.push([key, takeOut(data[key], rests, here)]);
    }
  }
  return Object.fromEntries(kept);
}

/** The path leads to a key that is missing here and has no stand-in. */
function isRequired(parent: unknown, [key = "", ...more]: Path, done: Path): boolean {
  return more.length === 0 && isMissing(parent, String(key)) && standInOf([...done, key]) === undefined;
}

function isMissing(data: unknown, key: string): boolean {
  return !isJsonObject(data) || !Object.hasOwn(data, key);
}
