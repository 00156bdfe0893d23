import { Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { InputChange } from "../../../domain/manifest/changes.ts";
import type { Manifest } from "../../../domain/manifest/manifest.ts";
import { parseManifest } from "../../../domain/manifest/parse.ts";
import { findPromiseChanges } from "../../../domain/manifest/promise-changes.ts";
import { TextWithCode } from "../app/text-with-code.tsx";
import { Time } from "../app/time.tsx";
import { NextRuns } from "../schedule/next-runs.tsx";
import classes from "./commit-effects.module.css";
import type { Files } from "./draft.ts";
import type { DraftPreview } from "./drafts.ts";
import { MANIFEST_FILE } from "./problems.ts";
import { describeRefused } from "./refused-calls.ts";

const SCHEDULE_WORDS = {
  added: "A schedule is added",
  removed: "The schedule is removed",
  changed: "The schedule changes",
  paused: "The schedule is paused",
  resumed: "The schedule is resumed",
};

interface Effect {
  readonly breaking: boolean;
  readonly message: string;
}

/** What a commit means beyond its files: for callers, for the clock. */
export function CommitEffects(props: {
  readonly preview: DraftPreview;
  /** Of the commit before; null: there is none. */
  readonly before: Manifest | null;
  readonly files: Files;
}) {
  const { preview, before, files } = props;
  const effects = listEffects(preview, before, files);
  const { warnings, nextRuns, schedules = [], calls } = preview;
  return (
    <section className={classes.effects} aria-label="What changes for callers">
      <h3 className={classes.title}>For callers</h3>
      {effects.length === 0 && (
        <Text size="sm" c="dimmed">
          {before === null ? "This is the first commit: nobody calls the workflow yet." : "Nothing changes."}
        </Text>
      )}
      <ul className={classes.list}>
        {effects.map(({ breaking, message }) => (
          <li key={message} data-breaking={breaking || undefined}>
            <span className={classes.effect}>{breaking ? "breaks" : "changes"}</span>
            <span>{message}</span>
          </li>
        ))}
        {warnings.map(({ file, line, column, message }) => (
          <li key={`${file} ${line} ${column} ${message}`}>
            <span className={classes.effect}>note</span>
            <span>
              {file}:{line}:{column} <TextWithCode text={message} />
            </span>
          </li>
        ))}
      </ul>
      {calls !== undefined && calls.examples.length > 0 && <RefusedCalls calls={calls} />}
      {nextRuns.length > 0 && (
        <details className={classes.runs}>
          <summary>Next {nextRuns.length} runs by the schedule</summary>
          <NextRuns runs={nextRuns} />
        </details>
      )}
      {schedules
        .filter((schedule) => schedule.nextRuns.length > 0)
        .map((schedule) => (
          <details key={schedule.name} className={classes.runs}>
            <summary>
              Next {schedule.nextRuns.length} runs by the schedule {schedule.name}
            </summary>
            <NextRuns runs={schedule.nextRuns} />
          </details>
        ))}
    </section>
  );
}

/** Calls that were accepted and would not be any more: how many, and the newest of them. */
function RefusedCalls({ calls }: { calls: NonNullable<DraftPreview["calls"]> }) {
  return (
    <details className={classes.runs} open>
      <summary>{describeRefused(calls.triggers)}</summary>
      <ul className={classes.list}>
        {calls.examples.map(({ executionId, createdAt, problems }) => (
          <li key={executionId}>
            <Link to="/executions/$executionId" params={{ executionId }} target="_blank">
              <Time at={createdAt} as="short" />
            </Link>
            <span>
              {problems.map(({ input, message }) => (input === "" ? message : `${input}: ${message}`)).join(" ")}
            </span>
          </li>
        ))}
      </ul>
    </details>
  );
}

function listEffects(preview: DraftPreview, before: Manifest | null, files: Files): Effect[] {
  const parsed = parseManifest(files.get(MANIFEST_FILE)?.text ?? "");
  const promises = parsed.ok ? findPromiseChanges(before, parsed.manifest) : [];
  const inputs = before === null ? [] : preview.inputs.map(toEffect);
  const { schedule, scheduleChanges = [] } = preview;
  const clock = [...(schedule === null ? [] : [schedule]), ...scheduleChanges].map((change) => ({
    breaking: change.change === "removed",
    message: describeClock(change),
  }));
  const all: Effect[] = [...inputs, ...promises, ...clock];
  return all.toSorted((one, other) => Number(other.breaking) - Number(one.breaking));
}

function toEffect({ input, breaking, message }: InputChange): Effect {
  return { breaking, message: `Input ${input}: ${message}.` };
}

function describeClock(given: NonNullable<DraftPreview["schedule"]> & { readonly name?: string }): string {
  const { name, change, before, after } = given;
  const words = [before === null ? "" : `before ${before}`, after === null ? "" : `now ${after}`].filter(Boolean);
  const what = name === undefined ? SCHEDULE_WORDS[change] : `Schedule ${name} is ${change}`;
  return `${what}: ${words.join("; ")}.`;
}
