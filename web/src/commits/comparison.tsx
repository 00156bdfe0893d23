import { ActionIcon } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { CrossIcon } from "../app/icons.tsx";
import { ErrorState, LoadingRows } from "../app/states.tsx";
import { CommitBuild } from "./commit-build.tsx";
import { diffQuery, toShortId } from "./commits.ts";
import classes from "./commits-tab.module.css";
import { FileDiffs } from "./file-diffs.tsx";

/** What lies between two commits (`from` null: everything is new), and what making the environment of the later one said. */
export function Comparison(props: { workflowId: string; from: string | null; to: string; onClose: () => void }) {
  const { workflowId, from, to, onClose } = props;
  const diff = useQuery(diffQuery(workflowId, from, to));
  return (
    <section className={classes.comparison} aria-labelledby="comparison-title">
      <div className={classes.comparisonHead}>
        <h2 id="comparison-title" className={classes.title}>
          {from === null ? (
            <>
              All files of <code>{toShortId(to)}</code>
            </>
          ) : (
            <>
              <code>{toShortId(from)}</code> to <code>{toShortId(to)}</code>
            </>
          )}
        </h2>
        <ActionIcon aria-label="Close the comparison" onClick={onClose}>
          <CrossIcon />
        </ActionIcon>
      </div>
      {diff.isPending && <LoadingRows count={3} label="The changes are loading" />}
      {diff.isError && <ErrorState error={diff.error} onRetry={() => void diff.refetch()} />}
      {diff.isSuccess && <FileDiffs files={diff.data} />}
      {!diff.isError && <CommitBuild key={to} workflowId={workflowId} commitId={to} />}
    </section>
  );
}
