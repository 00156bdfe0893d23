import type { ScheduleRow } from "../evidence.ts";
import type { Timetable } from "../timetables.ts";
import type { Case, Finding } from "./case.ts";
import { findDue, toMinute } from "./minutes.ts";

const COMPARED = 2;
/** Temporal was asked at one time and answered at another; a tick may have come in between. */
const ASKED_MS = 5_000;

/** Temporal has the schedules that are declared, paused where they are, for the same times, and no other. */
export function checkTimetables({ evidence }: Case): Finding[] {
  const find = (subject: string, text: string): Finding => ({ rule: "timetable", subject, text });
  const declared = evidence.schedules.filter(({ until }) => until === null);
  const known = new Map(evidence.timetables.map((timetable) => [timetable.workflowId, timetable]));
  return [
    ...declared.flatMap((row) => {
      const timetable = known.get(row.workflow_id);
      const flaw = timetable === undefined ? "is declared, and Temporal does not have it" : compare(row, timetable);
      return flaw === undefined ? [] : [find(row.workflow_id, flaw)];
    }),
    ...evidence.timetables
      .filter(({ workflowId }) => !declared.some((row) => row.workflow_id === workflowId))
      .map(({ workflowId }) => find(workflowId, "is kept by Temporal, and nobody declares it")),
  ];
}

function compare({ enabled, cron }: ScheduleRow, { paused, nextAt, askedAt }: Timetable): string | undefined {
  if (paused === enabled)
    return `is ${enabled ? "enabled" : "paused"}, and Temporal has it ${paused ? "paused" : "running"}`;
  const told = nextAt.slice(0, COMPARED).map(toMinute);
  const wanted = [askedAt, askedAt - ASKED_MS, askedAt + ASKED_MS].map((after) => findDue(cron, after, COMPARED));
  if (wanted.some((due) => due.join() === told.join())) return undefined;
  const tell = (times: readonly number[] = []): string => times.map((at) => new Date(at).toISOString()).join(", ");
  return `is due at ${tell(wanted[0])}, and Temporal means ${tell(told)}`;
}
