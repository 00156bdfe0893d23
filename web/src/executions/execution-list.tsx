import { Button, Group, Text } from "@mantine/core";
import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useFound } from "../app/announcer.tsx";
import { EmptyState, ErrorState, LoadingRows } from "../app/states.tsx";
import { CancelBar } from "./cancel-bar.tsx";
import { ExecutionTable } from "./execution-table.tsx";
import { type ExecutionFilters, executionsQuery } from "./executions.ts";
import { Filters } from "./filters.tsx";
import { hasEnded } from "./state.tsx";

/** Lists executions with their filters, page after page. Several that are under way can be cancelled together. */
export function ExecutionList(props: {
  readonly filters: ExecutionFilters;
  readonly onFilter: (filters: ExecutionFilters) => void;
  /** Of one workflow, whose name need not be said in each line. */
  readonly workflowId?: string;
}) {
  const { filters, onFilter, workflowId } = props;
  const all = workflowId === undefined ? filters : { ...filters, workflow: workflowId };
  const found = useInfiniteQuery({ ...executionsQuery(all), placeholderData: keepPreviousData });
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const lines = found.data?.pages.flatMap(({ executions }) => executions) ?? [];
  const going = lines.filter(({ status }) => !hasEnded(status)).map(({ executionId }) => executionId);
  const isFiltered = Object.keys(filters).length > 0;
  const isFound = found.isSuccess && !found.isPlaceholderData;
  useFound(isFiltered ? JSON.stringify(filters) : "", isFound ? countRuns(lines.length, found.hasNextPage) : undefined);
  return (
    <>
      <Filters filters={filters} ofWorkflow={all.workflow !== undefined} onChange={onFilter} />
      {found.isPending && <LoadingRows count={10} label="The runs are loading" />}
      {found.isError && <ErrorState error={found.error} onRetry={() => void found.refetch()} />}
      {found.isSuccess && lines.length === 0 && found.hasNextPage && (
        <Text c="dimmed" ta="center" mt="xl">
          None of the latest runs passes these filters.
        </Text>
      )}
      {found.isSuccess && lines.length === 0 && !found.hasNextPage && (
        <EmptyState title={isFiltered ? "No run passes these filters" : "Nothing has run yet"}>
          {isFiltered
            ? "Choose another state or longer dates, or clear the filters."
            : "Every run is listed here, whether a form, a call or a schedule started it."}
        </EmptyState>
      )}
      {lines.length > 0 && (
        <ExecutionTable lines={lines} showsWorkflow={workflowId === undefined} chosen={chosen} onChoose={setChosen} />
      )}
      {found.hasNextPage && (
        <Group justify="center" mt="md">
          <Button variant="default" loading={found.isFetchingNextPage} onClick={() => void found.fetchNextPage()}>
            {lines.length === 0 ? "Look further back" : "Show more"}
          </Button>
        </Group>
      )}
      <CancelBar
        chosen={going.filter((id) => chosen.has(id))}
        all={going}
        onChoose={(ids) => setChosen(new Set(ids))}
      />
    </>
  );
}

function countRuns(count: number, hasMore: boolean): string {
  if (count === 0) return hasMore ? "None of the latest runs passes these filters" : "No run passes these filters";
  return `${count === 1 ? "1 run" : `${count} runs`} found${hasMore ? ", and there are more" : ""}`;
}
