import type { Command } from "commander";
import type { z } from "zod";
import type { Backfill } from "../../domain/api/schedules.ts";
import { type Act, addCommand, type Context } from "./command.ts";
import { type Answer, toTable } from "./io.ts";
import { workflowPathOf } from "./made-commit.ts";
import { OF_SCHEDULE } from "./schedule-switch.ts";
import { findViewerZone, formatClock } from "./wall-clock.ts";

type BackfillDocument = z.infer<typeof Backfill>;

interface Options {
  readonly from: string;
  readonly to: string;
  readonly schedule?: string;
  readonly dryRun?: boolean;
}

const STATE_WORDS = { started: "started", started_before: "started before", due: "not started" } as const;

/** `schedules backfill WF --from T --to T`: exit code 1 when it stopped before the end. */
export function addBackfillCommand(schedules: Command, act: Act): void {
  addCommand(schedules, "backfill", "run the past ticks of a schedule that were not started, each once and in order")
    .argument("<workflow>")
    .option(...OF_SCHEDULE)
    .requiredOption("--from <time>", "the first may be due then: with an offset or Z, or by the schedule's own clock")
    .requiredOption("--to <time>", "the last is due before then")
    .option("--dry-run", "show what would run, and start nothing")
    .action(act<Options>(backfill));
}

async function backfill(context: Context, [workflow]: readonly string[], options: Options): Promise<Answer> {
  const { from, to, schedule, dryRun = false } = options;
  const path = `${workflowPathOf(workflow as string)}/backfills`;
  const document = await (await context.client()).post<BackfillDocument>(path, {
    json: { from, to, schedule, dryRun },
  });
  const { timezone, stopped } = document;
  const zone = findViewerZone(context.io);
  const rows = document.ticks.map((tick) => [
    formatClock(tick.nominalAt, timezone),
    formatClock(tick.nominalAt, zone),
    dryRun && tick.state === "due" ? "would start" : STATE_WORDS[tick.state],
    tick.executionId,
  ]);
  const lines = rows.length === 0 ? [] : toTable([`Due (${timezone})`, `Here (${zone})`, "", "Execution"], rows);
  lines.push(toSummary(document));
  if (stopped !== null)
    lines.push(`Stopped at ${formatClock(stopped.nominalAt, timezone)}: ${stopped.reason}`, stopped.whatToDo);
  return { document, lines, good: stopped === null };
}

function toSummary({ ticks, dryRun, started, startedBefore, left }: BackfillDocument): string {
  if (ticks.length === 0) return "The schedule was not due in that time.";
  if (dryRun) return `${left} would be started, ${startedBefore} were started before.`;
  const rest = left === 0 ? "" : `, ${left} not`;
  return `${started} started, ${startedBefore} were started before${rest}.`;
}
