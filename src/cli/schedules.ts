import type { Command } from "commander";
import type { z } from "zod";
import { TICKS_PAGE_MAX } from "../../domain/api/limits.ts";
import type { ListedSchedule, Schedule, ScheduleList, Tick, TickPage } from "../../domain/api/schedules.ts";
import { parseInstant } from "../../domain/schedules/instants.ts";
import { addBackfillCommand } from "./backfill.ts";
import type { Client } from "./client.ts";
import { type Act, addCommand, addGroup, type Context, parseCount } from "./command.ts";
import { type Answer, toTable } from "./io.ts";
import { workflowPathOf } from "./made-commit.ts";
import { Refusal } from "./refusal.ts";
import { addSwitchCommands, OF_SCHEDULE } from "./schedule-switch.ts";
import { formatSpan, OUTCOME_WORDS } from "./tick-words.ts";
import { findViewerZone, formatClock, formatUtc } from "./wall-clock.ts";

type ScheduleDocument = z.infer<typeof ListedSchedule>;
type TickDocument = z.infer<typeof Tick>;

/** A workflow's schedule; `schedule` is null without one. */
type ShownSchedule = z.infer<typeof Schedule>;

type TicksPage = z.infer<typeof TickPage>;

/** `schedules list|next|ticks|pause|resume|backfill`. */
export function addScheduleCommands(program: Command, act: Act): void {
  const schedules = addGroup(program, "schedules", "workflows that run by the clock");
  addCommand(schedules, "list", "list schedules, when each runs next, and what became of the last time")
    .option("--account <name>", "of this account instead of the first")
    .action(act<{ account?: string }>(listSchedules));
  addCommand(schedules, "next", "show the next runs of a workflow's schedule")
    .argument("<workflow>")
    .option(...OF_SCHEDULE)
    .option("-n, --count <count>", "how many, up to 100", parseCount, 10)
    .action(act<{ schedule?: string; count: number }>(showNextRuns));
  addCommand(schedules, "ticks", "show what became of each time the schedule was due, newest first")
    .argument("<workflow>")
    .option(...OF_SCHEDULE)
    .option("-n, --count <count>", "how many, up to 1000", parseCount, 50)
    .option("--before <time>", "only those due before this time")
    .action(act<{ schedule?: string; count: number; before?: string }>(showTicks));
  addSwitchCommands(schedules, act);
  addBackfillCommand(schedules, act);
}

async function listSchedules(context: Context, _args: readonly string[], query: { account?: string }): Promise<Answer> {
  const document = await (await context.client()).get<z.infer<typeof ScheduleList>>("/api/schedules", { query });
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
    `${workflowId}  ${name}${schedule.schedule === undefined ? "" : `  ${schedule.schedule}`}`,
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
  [workflow = ""]: readonly string[],
  { schedule: name, count }: { schedule?: string; count: number },
): Promise<Answer> {
  const document = await getSchedule(await context.client(), workflow, { schedule: name, count: String(count) });
  const { schedule, paused, reason, nextRuns, schedules = [] } = document;
  if (schedule === null) {
    const names = schedules.filter(({ ended }) => !ended).map((other) => other.name);
    const others = names.length === 0 ? "" : ` Choose one of its others with --schedule: ${names.join(", ")}.`;
    throw new Refusal(
      "Not found",
      `The workflow's latest commit declares no schedule${name ? ` ${name}` : ""}.${others}`,
    );
  }
  const { timezone, description } = schedule;
  const zone = findViewerZone(context.io);
  const rows = nextRuns.map(({ utc, note = "" }) => [
    formatClock(utc, timezone),
    formatClock(utc, zone),
    formatUtc(utc),
    note,
  ]);
  const table = toTable([timezone, `Here (${zone})`, "UTC", ""], rows);
  const lines = [description, ...(paused ? [`Paused: ${reason}`] : table)];
  return { document: { workflowId: workflow, timezone, description, paused, reason, nextRuns }, lines };
}

async function showTicks(
  context: Context,
  [workflow = ""]: readonly string[],
  { schedule, count, before }: { schedule?: string; count: number; before?: string },
): Promise<Answer> {
  const client = await context.client();
  const shown = await getSchedule(client, workflow, { schedule, count: "1" });
  const timezone = shown.schedule?.timezone ?? "UTC";
  const from = before && toUtcText(before, timezone);
  const page = await collectTicks(client, workflow, { schedule, count, before: from });
  const { ticks, nextBefore } = page;
  const rows = ticks.map(({ nominalAt, outcome, lateSeconds, source, executionId, reason }) => [
    formatClock(nominalAt, timezone),
    OUTCOME_WORDS[outcome],
    source === "backfill" ? "-" : formatSpan(lateSeconds),
    source,
    executionId,
    reason,
  ]);
  const table = toTable([`Due (${timezone})`, "Outcome", "Late", "By", "Execution", "Why"], rows);
  if (nextBefore !== null) context.say(`Earlier ones: --before ${nextBefore}`);
  return { document: { workflowId: workflow, timezone, ...page }, lines: table };
}

function getSchedule(
  client: Client,
  workflow: string,
  query: { schedule: string | undefined; count: string },
): Promise<ShownSchedule> {
  return client.get<ShownSchedule>(`${workflowPathOf(workflow)}/schedule`, { query });
}

/** Reads page after page until there are `count` ticks. */
async function collectTicks(
  client: Client,
  workflow: string,
  { schedule, count, before }: { schedule: string | undefined; count: number; before: string | undefined },
): Promise<TicksPage> {
  const ticks: TicksPage["ticks"] = [];
  let next: string | null = before ?? null;
  do {
    const limit = String(Math.min(TICKS_PAGE_MAX, count - ticks.length));
    const query = { schedule, limit, before: next ?? undefined };
    const page: TicksPage = await client.get<TicksPage>(`${workflowPathOf(workflow)}/ticks`, { query });
    ticks.push(...page.ticks);
    next = page.nextBefore;
  } while (next !== null && ticks.length < count);
  return { ticks, nextBefore: next };
}

function toUtcText(text: string, timezone: string): string {
  const parsed = parseInstant(text, timezone);
  if (!parsed.ok) throw new Refusal("Invalid request", `--before ${parsed.message}`);
  return parsed.at.toISOString();
}
