import type { TickOutcome } from "../../domain/schedules/ticks.ts";

/** Outcomes as tables show them; docs/schedules.md explains each. */
export const OUTCOME_WORDS: Readonly<Record<TickOutcome, string>> = {
  started: "started",
  skipped_overlap: "skipped",
  missed: "missed",
  refused_credits: "no credits",
  refused_concurrency: "no room",
  refused_storage: "no storage",
  paused: "paused",
  no_commit: "no commit",
};

const MINUTE_SECONDS = 60;
const HOUR_SECONDS = 3_600;
const DAY_SECONDS = 86_400;

/** A stretch of time in one unit: `0.4 s`, `12 min`, `5 h`, `3 days`. */
export function formatSpan(seconds: number): string {
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 2 * MINUTE_SECONDS) return `${Math.round(seconds)} s`;
  if (seconds < 2 * HOUR_SECONDS) return `${Math.round(seconds / MINUTE_SECONDS)} min`;
  if (seconds < 2 * DAY_SECONDS) return `${Math.round(seconds / HOUR_SECONDS)} h`;
  return `${Math.round(seconds / DAY_SECONDS)} days`;
}
