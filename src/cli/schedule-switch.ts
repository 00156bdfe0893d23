import type { Command } from "commander";
import type { z } from "zod";
import type { SwitchPreview } from "../../domain/api/schedules.ts";
import { type Act, addCommand } from "./command.ts";
import { findHead, makeCommit, workflowPathOf } from "./made-commit.ts";

type Shown = z.infer<typeof SwitchPreview>;

/** Of a workflow with several. */
export const OF_SCHEDULE = ["--schedule <name>", "the one of triggers.schedules with this name"] as const;

/** `schedules pause|resume`: each a commit that changes `enabled` in config.yaml and nothing else. */
export function addSwitchCommands(schedules: Command, act: Act): void {
  for (const [name, enabled, words] of [
    ["pause", false, "pause a workflow's schedule, by a commit"],
    ["resume", true, "let a workflow's schedule go on, by a commit"],
  ] as const) {
    addCommand(schedules, name, words)
      .argument("<workflow>")
      .option(...OF_SCHEDULE)
      .option("--dry-run", "show what would change in config.yaml, and change nothing")
      .action(
        act<{ schedule?: string; dryRun?: boolean }>(async (context, [workflow = ""], { schedule, dryRun = false }) => {
          const client = await context.client();
          const path = `${workflowPathOf(workflow)}/schedule`;
          const json = { enabled, schedule, expectedHead: await findHead(client, workflow), dryRun };
          if (dryRun) {
            const document = await client.post<Shown>(path, { json });
            return { document, lines: toChangedLines(document) };
          }
          const document = await makeCommit(context, client, path, json);
          const done = enabled ? "Resumed" : "Paused";
          const lines = [document.changed ? `${done} by ${document.commitId}` : `It was ${done.toLowerCase()} already`];
          return { document, lines };
        }),
      );
  }
}

/** The lines that differ: there are as many before as after. */
function toChangedLines({ before, after }: Shown): string[] {
  const current = after.split("\n");
  const changed = before
    .split("\n")
    .flatMap((line, index) => (line === current[index] ? [] : [`- ${line}`, `+ ${current[index]}`]));
  return changed.length === 0 ? ["No change."] : changed;
}
