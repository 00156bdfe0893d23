import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense, useMemo, useState } from "react";
import { ChevronDownIcon, ChevronRightIcon } from "../app/icons.tsx";
import { loadPart } from "../app/load-part.ts";
import { ErrorState, LoadingRows } from "../app/states.tsx";
import { createLogLines } from "../execution/log-lines.ts";
import classes from "./commit-build.module.css";
import { type BuiltEnvironment, buildLogQuery, toShortId } from "./commits.ts";
import fold from "./fold.module.css";

const LogView = lazy(() =>
  loadPart(() => import("../execution/log-view.tsx")).then((loaded) => ({ default: loaded.LogView })),
);

/** A longer log is folded at first. */
const LINES_OPEN_MAX = 12;

/** What making a commit's packages said, for as long as it is kept. */
export function CommitBuild({ workflowId, commitId }: { workflowId: string; commitId: string }) {
  const build = useQuery(buildLogQuery(workflowId, commitId));
  return (
    <section className={classes.build} aria-labelledby="build-title">
      <h3 id="build-title" className={classes.title}>
        Packages of <code>{toShortId(commitId)}</code>
      </h3>
      {build.isPending && <LoadingRows count={1} label="The build log is loading" />}
      {build.isLoadingError && <ErrorState error={build.error} onRetry={() => void build.refetch()} />}
      {build.data !== undefined && <Said build={build.data} />}
    </section>
  );
}

function Said({ build: { environment, log } }: { build: BuiltEnvironment }) {
  if (environment === null) return <p className={classes.none}>It needs none, so nothing was built for it.</p>;
  if (log === null || log.trim() === "")
    return (
      <p className={classes.none}>
        Packages were installed. The build log is no longer available, or is on another machine.
      </p>
    );
  return <BuildLog text={log} />;
}

function BuildLog({ text }: { text: string }) {
  const lines = useMemo(() => toLines(text), [text]);
  const count = lines.count();
  const [open, setOpen] = useState(count <= LINES_OPEN_MAX);
  return (
    <div className={fold.frame}>
      <button type="button" className={fold.head} aria-expanded={open} onClick={() => setOpen(!open)}>
        {open ? <ChevronDownIcon size={14} /> : <ChevronRightIcon size={14} />}
        <span className={classes.name}>Build log</span>
        <span className={classes.count}>{count === 1 ? "1 line" : `${count.toLocaleString("en")} lines`}</span>
      </button>
      {open && (
        <div className={classes.body}>
          <Suspense fallback={<LoadingRows count={1} label="The build log is loading" />}>
            <LogView
              label="Build log"
              goesOn={false}
              hasTimes={false}
              followed={{ log: lines, state: "ended", error: undefined }}
            />
          </Suspense>
        </div>
      )}
    </div>
  );
}

/** The lines of a text that was written at nobody knows what time. */
function toLines(text: string) {
  const lines = createLogLines();
  lines.add(
    text
      .trimEnd()
      .split("\n")
      .map((line) => ({ time: "", stream: "stdout", text: line })),
  );
  return lines;
}
