import type { Command } from "commander";
import { type Act, addCommand, addGroup, parseCount } from "./command.ts";
import { toTable } from "./io.ts";

interface ScheduleDocument {
  readonly workflowId: string;
  readonly cron: string;
  readonly timezone: string;
  readonly nextRun: string | null;
  readonly paused: boolean;
  readonly reason: string | null;
}

interface TickDocument {
  readonly nominalAt: string;
  readonly outcome: string;
  readonly executionId: string | null;
  readonly lateSeconds: number;
}

/** `schedules list|next|ticks`. */
export function addScheduleCommands(program: Command, act: Act): void {
  const schedules = addGroup(program, "schedules", "workflows that run by the clock");

  addCommand(schedules, "list", "list schedules and when each runs next").action(
    act(async (context) => {
      const document = await (await context.client()).get<{ schedules: ScheduleDocument[] }>("/api/operator/schedules");
      const rows = document.schedules.map((one) => [
        one.workflowId,
        one.cron,
        one.timezone,
        one.paused ? `paused: ${one.reason}` : one.nextRun,
      ]);
      return { document, lines: toTable(["Workflow", "Cron", "Time zone", "Next run"], rows) };
    }),
  );

  addCommand(schedules, "next", "show the next runs of a workflow's schedule")
    .argument("<workflow>")
    .option("--count <count>", "how many, up to 100", parseCount, 10)
    .action(
      act<{ count: number }>(async (context, [workflow], { count }) => {
        const path = `/api/operator/schedules/${encodeURIComponent(workflow as string)}/next`;
        const query = { count: String(count) };
        const document = await (await context.client()).get<{ nextRuns: { utc: string; local: string }[] }>(path, {
          query,
        });
        return {
          document,
          lines: toTable(
            ["Local", "UTC"],
            document.nextRuns.map((run) => [run.local, run.utc]),
          ),
        };
      }),
    );

  addCommand(schedules, "ticks", "show what became of each time the schedule was due")
    .argument("<workflow>")
    .action(
      act(async (context, [workflow]) => {
        const path = `/api/operator/schedules/${encodeURIComponent(workflow as string)}/ticks`;
        const document = await (await context.client()).get<{ ticks: TickDocument[] }>(path);
        const rows = document.ticks.map((tick) => [tick.nominalAt, tick.outcome, tick.executionId, tick.lateSeconds]);
        return { document, lines: toTable(["Due", "Outcome", "Execution", "Late (s)"], rows) };
      }),
    );
}
