import type { Command } from "commander";
import type { TickOutcome } from "../../domain/schedules/ticks.ts";
import type { NextRun } from "../publish/next-runs.ts";
import { addBackfillCommand } from "./backfill.ts";
import { type Act, addCommand, addGroup, type Context, parseCount } from "./command.ts";
import { type Answer, toTable } from "./io.ts";
import { addSwitchCommands } from "./schedule-switch.ts";
import { formatSpan, OUTCOME_WORDS } from "./tick-words.ts";
import { findViewerZone, formatClock, formatUtc } from "./wall-clock.ts";

const SCHEDULES = "/api/operator/schedules";

interface ScheduleDocument {
  readonly workflowId: string;
  readonly name: string;
  readonly timezone: string;
  readonly description: string;
  readonly nextRun: NextRun | null;
  readonly paused: boolean;
  readonly reason: string | null;
  readonly untoldSeconds: number | null;
  readonly lastTick: TickDocument | null;
}

interface NextDocument extends Pick<ScheduleDocument, "timezone" | "description" | "paused" | "reason"> {
  readonly nextRuns: readonly NextRun[];
}

interface TickDocument {
  readonly nominalAt: string;
  readonly outcome: TickOutcome;
  readonly reason: string;
  readonly lateSeconds: number;
  readonly executionId: string | null;
  readonly source: string;
}

interface TicksDocument {
  readonly timezone: string;
  readonly ticks: readonly TickDocument[];
  readonly nextBefore: string | null;
}

/** `schedules list|next|ticks|pause|resume|backfill`. */
export function addScheduleCommands(program: Command, act: Act): void {
  const schedules = addGroup(program, "schedules", "workflows that run by the clock");
  addCommand(schedules, "list", "list schedules, when each runs next, and what became of the last time").action(
    act(listSchedules),
  );
  addCommand(schedules, "next", "show the next runs of a workflow's schedule")
    .argument("<workflow>")
    .option("-n, --count <count>", "how many, up to 100", parseCount, 10)
    .action(act<{ count: number }>(showNextRuns));
  addCommand(schedules, "ticks", "show what became of each time the schedule was due, newest first")
    .argument("<workflow>")
    .option("-n, --count <count>", "how many, up to 1000", parseCount, 50)
    .option("--before <time>", "only those due before this time")
    .action(act<{ count: number; before?: string }>(showTicks));
  addSwitchCommands(schedules, act);
  addBackfillCommand(schedules, act);
}

async function listSchedules(context: Context): Promise<Answer> {
  const document = await (await context.client()).get<{ schedules: ScheduleDocument[] }>(SCHEDULES);
  if (document.schedules.length === 0) return { document, lines: ["No workflow has a schedule."] };
  const zone = findViewerZone(context.io);
  const lines = document.schedules.flatMap((schedule, index) => [
    ...(index === 0 ? [] : [""]),
    ...toLines(schedule, zone),
  ]);
  return { document, lines };
}

/** One schedule as people read it. */
function toLines(schedule: ScheduleDocument, viewerZone: string): string[] {
  const { workflowId, name, timezone, description, nextRun, lastTick, untoldSeconds } = schedule;
  const next =
    nextRun === null
      ? [schedule.paused ? `paused: ${schedule.reason}` : "never again"]
      : [
          `${formatClock(nextRun.utc, timezone)} ${timezone}`,
          `${formatClock(nextRun.utc, viewerZone)} here (${viewerZone})`,
          `${formatUtc(nextRun.utc)} UTC`,
          ...(nextRun.note === undefined ? [] : [nextRun.note]),
        ];
  const untold = `  Temporal does not know the last change yet, for ${formatSpan(untoldSeconds ?? 0)} now.`;
  return [
    `${workflowId}  ${name}`,
    `  ${description}`,
    ...toRows("next", next),
    ...toRows("last", lastTick === null ? ["nothing yet"] : [toWords(lastTick, timezone)]),
    ...(untoldSeconds === null ? [] : [untold]),
  ];
}

function toRows(heading: string, rows: readonly string[]): string[] {
  return rows.map((row, index) => `  ${(index === 0 ? heading : "").padEnd(4)}  ${row}`);
}

function toWords({ nominalAt, outcome, reason, executionId }: TickDocument, timezone: string): string {
  const words = [
    formatClock(nominalAt, timezone),
    OUTCOME_WORDS[outcome],
    ...(executionId === null ? [] : [executionId]),
  ];
  return `${words.join("  ")}${reason === "" ? "" : `  ${reason}`}`;
}

async function showNextRuns(
  context: Context,
  [workflow]: readonly string[],
  { count }: { count: number },
): Promise<Answer> {
  const document = await (await context.client()).get<NextDocument>(
    `${SCHEDULES}/${encodeURIComponent(workflow as string)}/next`,
    { query: { count: String(count) } },
  );
  const { timezone, description, paused, reason, nextRuns } = document;
  const zone = findViewerZone(context.io);
  const rows = nextRuns.map(({ utc, note = "" }) => [
    formatClock(utc, timezone),
    formatClock(utc, zone),
    formatUtc(utc),
    note,
  ]);
  const table = toTable([timezone, `Here (${zone})`, "UTC", ""], rows);
  return { document, lines: [description, ...(paused ? [`Paused: ${reason}`] : table)] };
}

async function showTicks(
  context: Context,
  [workflow]: readonly string[],
  { count, before }: { count: number; before?: string },
): Promise<Answer> {
  const document = await (await context.client()).get<TicksDocument>(
    `${SCHEDULES}/${encodeURIComponent(workflow as string)}/ticks`,
    { query: { limit: String(count), before } },
  );
  const { timezone, ticks, nextBefore } = document;
  const rows = ticks.map(({ nominalAt, outcome, lateSeconds, source, executionId, reason }) => [
    formatClock(nominalAt, timezone),
    OUTCOME_WORDS[outcome],
    formatSpan(lateSeconds),
    source,
    executionId,
    reason,
  ]);
  const table = toTable([`Due (${timezone})`, "Outcome", "Late", "By", "Execution", "Why"], rows);
  if (nextBefore !== null) context.say(`Earlier ones: --before ${nextBefore}`);
  return { document, lines: table };
}
