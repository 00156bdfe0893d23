import type { LaneRequest } from "../request.ts";
import { countDebt, createEffort, type Effort } from "./effort.ts";
import type { Lane } from "./lane.ts";

/** Codes that are remembered, so that not every execution of unfit code tries again. */
const GROUPS_MAX = 1_000;

/** The lanes of one code with its limits, and what is known of them. */
export interface Group extends Effort {
  readonly request: LaneRequest;
  readonly lanes: Set<Lane>;
  starting: number;
  /** The lane whose successor is being started: until that stands, there is one more than there may be. */
  replaced: Lane | undefined;
  usedAt: number;
  /** How long an execution takes as a rule, without the making of the next fork: an exponential mean. */
  usualMs: number;
  /** What its last lane held when it was measured; 0 before there was one. */
  usualBytes: number;
  /** None is started in addition to those there are before: there was no room for one. */
  fullUntil: number;
  refusal: { readonly reason: string; readonly until: number } | undefined;
}

/** By code, in the order of use: the least recently used first. */
export type Groups = Map<string, Group>;

/** The group of this code, a new one where there is none, as the one that was used last. */
export function takeGroup(groups: Groups, request: LaneRequest): Group {
  const key = toKey(request);
  const group = groups.get(key) ?? {
    request,
    lanes: new Set(),
    starting: 0,
    replaced: undefined,
    usedAt: 0,
    usualMs: 0,
    usualBytes: 0,
    refusal: undefined,
    ...createEffort(),
    fullUntil: 0,
  };
  groups.delete(key);
  groups.set(key, group);
  group.usedAt = Date.now();
  forgetOldest(groups);
  return group;
}

/** What is the same here may share a lane. Folders are named after their content. */
function toKey({ commitDir, environmentDir, runtime, entrypoint, kinds, limits, network }: LaneRequest): string {
  const files = Object.values(kinds).some((kind) => kind === "file" || kind === "file_list");
  return JSON.stringify([
    commitDir,
    environmentDir,
    runtime?.interpreter.path,
    entrypoint,
    files,
    limits,
    network ?? false,
  ]);
}

/** Codes without a lane are kept only for what is known against them. */
function forgetOldest(groups: Groups): void {
  if (groups.size <= GROUPS_MAX) return;
  for (const [key, group] of groups) {
    if (group.lanes.size === 0 && group.starting === 0) return void groups.delete(key);
  }
}

export function isRefused({ refusal }: Group): boolean {
  return refusal !== undefined && refusal.until > Date.now();
}

/** Its lanes that are not closed. */
export function pruneClosed(group: Group): Lane[] {
  for (const lane of group.lanes) if (lane.state() === "closed") group.lanes.delete(lane);
  return [...group.lanes];
}

/** Returns whether nothing is known of the code that matters to the next lane of it. */
export function isForgettable(group: Group): boolean {
  const isEmpty = pruneClosed(group).length + group.starting === 0; // Nobody would know of the lane that is being started.
  return isEmpty && group.refusal === undefined && countDebt(group, Date.now()) === 0;
}

/** Whether no lane may be started now; one that takes the place of another needs no room beside it. */
export function isResting({ restUntil, fullUntil }: Group, isSuccessor = false): boolean {
  return Math.max(restUntil, isSuccessor ? 0 : fullUntil) > Date.now();
}
