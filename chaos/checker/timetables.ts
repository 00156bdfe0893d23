import type { ScheduleRow } from "../evidence.ts";
import type { Timetable } from "../timetables.ts";
import type { Case, Finding } from "./case.ts";
import { findDue, toMinute } from "./minutes.ts";

const COMPARED = 2;
/** Temporal tells what is next after what it has dealt with, and on a busy machine deals with it later. */
const BEHIND_MS = 600_000;

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

function compare(row: ScheduleRow, { paused, nextAt, askedAt }: Timetable): string | undefined {
  const { enabled } = row;
  if (paused === enabled)
    return `is ${enabled ? "enabled" : "paused"}, and Temporal has it ${paused ? "paused" : "running"}`;
  const told = nextAt.slice(0, COMPARED).map(toMinute);
  const isInOrder = findDue(row, (told[0] ?? 0) - 1, COMPARED).join() === told.join();
  const wanted = findDue(row, askedAt, COMPARED);
  const isNext = (told[0] ?? 0) > askedAt - BEHIND_MS && (told[0] ?? 0) <= (wanted[0] ?? 0);
  if (isInOrder && isNext) return undefined;
  const tell = (times: readonly number[]): string => times.map((at) => new Date(at).toISOString()).join(", ");
  return `is due at ${tell(wanted)}, and Temporal means ${tell(told)}`;
}
