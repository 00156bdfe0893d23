import type { z } from "zod";
import type { TickPage } from "../../../domain/api/schedules.ts";
import { toDuration } from "../app/time-text.ts";
import { STATES } from "../executions/states.ts";

/** What became of a time the schedule was due. */
export type Tick = z.infer<typeof TickPage>["ticks"][number];

const OUTCOMES: Readonly<Record<Tick["outcome"], { label: string; tone: string }>> = {
  started: { label: "Started", tone: "idle" },
  skipped_overlap: { label: "Skipped: still running", tone: "idle" },
  missed: { label: "Missed", tone: "warning" },
  refused_credits: { label: "Refused: credits", tone: "failure" },
  refused_concurrency: { label: "Refused: too many", tone: "failure" },
  refused_storage: { label: "Refused: storage", tone: "failure" },
  paused: { label: "Paused", tone: "idle" },
  no_commit: { label: "No commit", tone: "idle" },
};
/** Later than this is worth a word. */
const LATE_SECONDS = 5;

/** Returns what became of a tick, in a word, and its colour: of one that started, how its run is. */
export function describeTick({ outcome, status }: Pick<Tick, "outcome" | "status">): { label: string; tone: string } {
  return outcome === "started" && status ? STATES[status] : OUTCOMES[outcome];
}

/** Whether a run started much after it was due. Of what was asked for months afterwards, nobody wants to know. */
export function isLate({ lateSeconds, source }: Pick<Tick, "lateSeconds" | "source">): boolean {
  return source !== "backfill" && lateSeconds >= LATE_SECONDS;
}

/** Reports how late a tick was; of one that was asked for afterwards, that. */
export function describeLateness(tick: Pick<Tick, "lateSeconds" | "source">): string {
  if (tick.source === "backfill") return "asked for afterwards";
  return isLate(tick) ? `${toDuration(tick.lateSeconds)} late` : "on time";
}

/** Reports what became of several ticks together: "18 success, 2 failed, 1 late". */
export function countTicks(ticks: readonly Tick[]): string {
  const counts = new Map<string, number>();
  const labels = ticks.flatMap((tick) => [describeTick(tick).label.toLowerCase(), ...(isLate(tick) ? ["late"] : [])]);
  for (const label of labels) counts.set(label, (counts.get(label) ?? 0) + 1);
  return counts.size === 0 ? "none yet" : [...counts].map(([label, count]) => `${count} ${label}`).join(", ");
}
