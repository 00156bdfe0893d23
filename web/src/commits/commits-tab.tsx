import { Badge, Button, Checkbox, Group, Text } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { lazy, Suspense, useState } from "react";
import { ButtonLink } from "../app/button-link.tsx";
import { loadPart } from "../app/load-part.ts";
import { useMayChange } from "../app/session.ts";
import { EmptyState, ErrorState, LoadingRows } from "../app/states.tsx";
import { Time } from "../app/time.tsx";
import type { Commit } from "../workflows/workflows.ts";
import { commitsQuery, toShortId } from "./commits.ts";
import classes from "./commits-tab.module.css";
import { Comparison } from "./comparison.tsx";

const RestoreDialog = lazy(() =>
  loadPart(() => import("./restore-dialog.tsx")).then((loaded) => ({ default: loaded.RestoreDialog })),
);

const route = getRouteApi("/signed-in/workflows/$workflowId/commits");

/** More executions than this are not counted. */
const EXECUTIONS_COUNTED = 10_000;

type Line = Commit & { readonly parentId: string | null };

/** Everything that was ever committed: what it changed, who did it, which runs used it, and the way back to it. */
export function CommitsTab() {
  const { workflowId } = route.useParams();
  const { from, to } = route.useSearch();
  const navigate = route.useNavigate();
  const found = useInfiniteQuery(commitsQuery(workflowId));
  if (found.isError) return <ErrorState error={found.error} onRetry={() => void found.refetch()} />;
  if (found.isPending) return <LoadingRows height={52} label="The commits are loading" />;
  const commits = found.data.pages.flatMap((page) => page.commits);
  if (commits.length === 0) return <NoCommits workflowId={workflowId} />;
  const close = (): void => void navigate({ search: {} });
  return (
    <div className={classes.page} data-compared={to !== undefined || undefined}>
      <section aria-labelledby="history-title">
        <History workflowId={workflowId} commits={commits} shown={{ from: from ?? null, to }} />
        {found.hasNextPage && (
          <Button
            variant="default"
            mt="sm"
            loading={found.isFetchingNextPage}
            onClick={() => void found.fetchNextPage()}
          >
            Show earlier ones
          </Button>
        )}
      </section>
      {to !== undefined && <Comparison workflowId={workflowId} from={from ?? null} to={to} onClose={close} />}
    </div>
  );
}

function NoCommits({ workflowId }: { workflowId: string }) {
  return (
    <EmptyState
      title="Nothing committed yet"
      action={
        <ButtonLink to="/workflows/$workflowId/code" params={{ workflowId }}>
          Go to the code
        </ButtonLink>
      }
    >
      A commit is a version of the files that can be run. Each is kept as it was.
    </EmptyState>
  );
}

function History(props: {
  readonly workflowId: string;
  readonly commits: readonly Line[];
  readonly shown: { readonly from: string | null; readonly to: string | undefined };
}) {
  const { workflowId, commits, shown } = props;
  const navigate = route.useNavigate();
  const mayChange = useMayChange();
  const [chosen, setChosen] = useState<readonly string[]>([]);
  const [restoring, setRestoring] = useState<Line>();
  const head = commits.find(({ isHead }) => isHead);
  const choose = (commitId: string): void => {
    const others = chosen.filter((id) => id !== commitId);
    setChosen(others.length < chosen.length ? others : [...chosen.slice(-1), commitId]);
  };
  const compare = (): void => {
    // The older one first, whichever was chosen first.
    const order = commits.map(({ commitId }) => commitId);
    const [older, newer] = chosen.toSorted((one, other) => order.indexOf(other) - order.indexOf(one));
    if (older !== undefined && newer !== undefined) void navigate({ search: { from: older, to: newer } });
  };
  return (
    <>
      <div className={classes.tools}>
        <h2 id="history-title" className={classes.title}>
          History
        </h2>
        {commits.length > 1 && (
          <Group gap="sm">
            <Text size="sm" c="dimmed" visibleFrom="sm">
              {chosen.length < 2 ? "Choose two to compare them." : "Two are chosen."}
            </Text>
            <Button variant="default" disabled={chosen.length !== 2} onClick={compare}>
              Compare
            </Button>
          </Group>
        )}
      </div>
      <ol className={classes.list}>
        {commits.map((commit) => (
          <CommitLine
            key={commit.commitId}
            workflowId={workflowId}
            commit={commit}
            isShown={commit.commitId === shown.to && shown.from === commit.parentId}
            isChosen={chosen.includes(commit.commitId)}
            mayCompare={commits.length > 1}
            mayRestore={mayChange && !commit.isHead}
            onChoose={() => choose(commit.commitId)}
            onRestore={() => setRestoring(commit)}
          />
        ))}
      </ol>
      {restoring !== undefined && head !== undefined && (
        <Suspense>
          <RestoreDialog
            workflowId={workflowId}
            commit={restoring}
            head={head.commitId}
            onClose={() => setRestoring(undefined)}
          />
        </Suspense>
      )}
    </>
  );
}

function CommitLine(props: {
  readonly workflowId: string;
  readonly commit: Line;
  readonly isShown: boolean;
  readonly isChosen: boolean;
  readonly mayCompare: boolean;
  readonly mayRestore: boolean;
  readonly onChoose: () => void;
  readonly onRestore: () => void;
}) {
  const { workflowId, commit, isShown, isChosen, mayCompare, mayRestore, onChoose, onRestore } = props;
  const { commitId, parentId, message, author, createdAt, executions, isHead } = commit;
  const [title = "", ...more] = message.split("\n");
  const count = executions >= EXECUTIONS_COUNTED ? "10,000 or more" : executions.toLocaleString("en");
  return (
    <li className={classes.line} data-shown={isShown || undefined}>
      {mayCompare && (
        <Checkbox
          size="xs"
          className={classes.choice}
          checked={isChosen}
          onChange={onChoose}
          aria-label={`Compare ${toShortId(commitId)}`}
        />
      )}
      <div className={classes.words}>
        <Link
          to="/workflows/$workflowId/commits"
          params={{ workflowId }}
          search={parentId === null ? { to: commitId } : { from: parentId, to: commitId }}
          className={classes.message}
          aria-current={isShown ? "true" : undefined}
        >
          {title === "" ? "Without a message" : title}
        </Link>
        {isHead && (
          <Badge size="sm" variant="light" ml={8}>
            Latest
          </Badge>
        )}
        {more.join("").trim() !== "" && <p className={classes.more}>{more.join("\n").trim()}</p>}
        <p className={classes.facts}>
          <code>{toShortId(commitId)}</code>
          <span>{author === null || author.email === "operator" ? "Published by the operator" : author.email}</span>
          <Time at={createdAt} />
          {executions === 0 ? (
            <span>Never run</span>
          ) : (
            <Link to="/workflows/$workflowId/runs" params={{ workflowId }} search={{ commit: commitId }}>
              {count} {executions === 1 ? "run" : "runs"}
            </Link>
          )}
        </p>
      </div>
      {mayRestore && (
        <Button variant="subtle" color="gray" onClick={onRestore} aria-label={`Restore ${toShortId(commitId)}`}>
          Restore
        </Button>
      )}
    </li>
  );
}
