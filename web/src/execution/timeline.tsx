import { Title } from "@mantine/core";
import { toDuration, toExact } from "../app/time-text.ts";
import type { Execution } from "./execution.ts";
import { listSteps, type Step } from "./steps.ts";
import classes from "./timeline.module.css";

/** Where the time of a run went: a bar of its steps, and each step with its length. */
export function Timeline({ execution }: { execution: Execution }) {
  const steps = listSteps(execution);
  const total = steps.reduce((sum, { ms }) => sum + ms, 0);
  if (total === 0) return null;
  return (
    <section className={classes.timeline} aria-labelledby="run-timeline">
      <div className={classes.head}>
        <Title order={2} size="h3" id="run-timeline">
          Timeline
        </Title>
        <span className="number">{toDuration(total / 1000)} from acceptance to the end</span>
      </div>
      {/* The list below says the same. */}
      <div className={classes.bar} aria-hidden="true">
        {steps.map((step) => (
          <span
            key={step.startMs}
            className={classes.part}
            data-step={step.name}
            style={{ flexGrow: step.ms / total }}
          />
        ))}
      </div>
      <ol className={classes.steps}>
        {steps.map((step) => (
          <li key={step.startMs} title={`Since ${toExact(new Date(step.startMs))}`}>
            <span className={classes.swatch} data-step={step.name} aria-hidden="true" />
            <span>{nameOf(step)}</span>
            <span className={`${classes.length} number`}>{toDuration(step.ms / 1000)}</span>
          </li>
        ))}
      </ol>
    </section>
  );
}

function nameOf({ name, attempt }: Step): string {
  return attempt === null ? name : `${name}, attempt ${attempt}`;
}
