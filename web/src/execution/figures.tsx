import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { formatBytes, formatSize } from "../../../domain/manifest/sizes.ts";
import { Credits } from "../app/credits.tsx";
import { Hint } from "../app/hint.tsx";
import { Time, useNow } from "../app/time.tsx";
import { toDuration } from "../app/time-text.ts";
import { hasEnded } from "../executions/state.tsx";
import type { Execution } from "./execution.ts";
import classes from "./figures.module.css";

const TICK_MS = 100;
const COMMIT_CHARACTERS = 7;

/** How long it took, what it cost and what it used, large enough to be seen at once. */
export function Figures({ execution }: { execution: Execution }) {
  const { status, duration, cost, estimate, startedAt, createdAt, workflowId, commitId, attempts, limits } = execution;
  const memoryBytes = Math.max(0, ...attempts.map((attempt) => attempt.peakMemoryBytes ?? 0));
  const processorSeconds = attempts.reduce((sum, attempt) => sum + (attempt.processorSeconds ?? 0), 0);
  const ended = hasEnded(status);
  return (
    <dl className={classes.figures}>
      <Figure name="Duration">
        {ended && duration !== null && toDuration(duration)}
        {!ended && startedAt !== null && <Running since={startedAt} />}
        {((ended && duration === null) || (!ended && startedAt === null)) && "–"}
      </Figure>
      <Figure name={ended || estimate === null ? "Cost" : "Usual cost"}>
        {ended && cost !== null && (
          <Hint label={`Computing ${cost.compute}, in all ${cost.total}`}>
            <span>
              <Credits amount={cost.total} unit />
            </span>
          </Hint>
        )}
        {!ended && estimate !== null && <Credits amount={estimate.credits} unit />}
        {((ended && cost === null) || (!ended && estimate === null)) && "–"}
      </Figure>
      <Figure name="Memory">
        {memoryBytes === 0 ? "–" : formatBytes(memoryBytes)} <Limit>of {formatSize(limits.memoryBytes)}</Limit>
      </Figure>
      <Figure name="Processor time">
        {processorSeconds === 0 ? "–" : toDuration(processorSeconds)} <Limit>on {countProcessors(limits.cpu)}</Limit>
      </Figure>
      <Figure name={startedAt === null ? "Accepted" : "Started"}>
        <Time at={startedAt ?? createdAt} />
      </Figure>
      <Figure name="Commit">
        <Link to="/workflows/$workflowId/code" params={{ workflowId }} search={{ commit: commitId }} title={commitId}>
          <code>{commitId.slice(0, COMMIT_CHARACTERS)}</code>
        </Link>
      </Figure>
    </dl>
  );
}

function Figure({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className={classes.figure}>
      <dt>{name}</dt>
      <dd className="number">{children}</dd>
    </div>
  );
}

function Limit({ children }: { children: ReactNode }) {
  return <small className={classes.limit}>{children}</small>;
}

function countProcessors(cpu: number): string {
  return cpu === 1 ? "1 processor" : `${cpu} processors`;
}

function Running({ since }: { since: string }) {
  const now = useNow(TICK_MS);
  const seconds = Math.max(0, (now.getTime() - new Date(since).getTime()) / 1000);
  return <>{seconds < 60 ? `${seconds.toFixed(1)} s` : toDuration(seconds)}</>;
}
