import { Button, Group, Text } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { keepPreviousData, useInfiniteQuery, useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { callApi } from "../app/api.ts";
import { StopIcon } from "../app/icons.tsx";
import { useMayChange } from "../app/session.ts";
import { EmptyState, ErrorState, LoadingRows } from "../app/states.tsx";
import { ExecutionTable } from "./execution-table.tsx";
import { type ExecutionFilters, executionsQuery } from "./executions.ts";
import { Filters } from "./filters.tsx";
import { hasEnded } from "./state.tsx";

/** The service cancels this many in one call. */
const CANCELLED_AT_ONCE_MAX = 100;

/** Executions with their filters, page after page; several of those that go on can be cancelled together. */
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
  const going = lines.filter(({ executionId, status }) => chosen.has(executionId) && !hasEnded(status));
  const isFiltered = Object.keys(filters).length > 0;
  return (
    <>
      <Filters filters={filters} onChange={onFilter} />
      <CancelBar ids={going.map(({ executionId }) => executionId)} onDone={() => setChosen(new Set())} />
      {found.isPending && <LoadingRows count={10} label="The runs are loading" />}
      {found.isError && <ErrorState error={found.error} onRetry={() => void found.refetch()} />}
      {found.isSuccess && lines.length === 0 && (
        <EmptyState title={isFiltered ? "No run passes these filters" : "Nothing has run yet"}>
          {isFiltered
            ? "Choose another state or longer dates, or clear the filters."
            : "Runs are listed here whatever starts them: a form, a call, or a schedule."}
        </EmptyState>
      )}
      {lines.length > 0 && (
        <ExecutionTable lines={lines} showsWorkflow={workflowId === undefined} chosen={chosen} onChoose={setChosen} />
      )}
      {found.hasNextPage && (
        <Group justify="center" mt="md">
          <Button variant="default" loading={found.isFetchingNextPage} onClick={() => void found.fetchNextPage()}>
            Show more
          </Button>
        </Group>
      )}
    </>
  );
}

function CancelBar({ ids, onDone }: { ids: readonly string[]; onDone: () => void }) {
  const mayChange = useMayChange();
  const known = useQueryClient();
  const cancel = useMutation({
    mutationFn: async () => {
      for (let at = 0; at < ids.length; at += CANCELLED_AT_ONCE_MAX) {
        const executionIds = ids.slice(at, at + CANCELLED_AT_ONCE_MAX);
        await callApi("/api/editor/executions/cancel", { method: "POST", body: { executionIds } });
      }
    },
    onSuccess: onDone,
    onError: (error) => notifications.show({ color: "red", title: "Not all were cancelled", message: error.message }),
    onSettled: () => known.invalidateQueries({ queryKey: ["executions"] }),
  });
  if (!mayChange || ids.length === 0) return null;
  return (
    <Group gap="sm" mb="sm" role="status">
      <Text size="sm">{ids.length === 1 ? "1 run chosen" : `${ids.length} runs chosen`}</Text>
      <Button variant="default" leftSection={<StopIcon />} loading={cancel.isPending} onClick={() => cancel.mutate()}>
        Cancel {ids.length === 1 ? "it" : "them"}
      </Button>
    </Group>
  );
}
