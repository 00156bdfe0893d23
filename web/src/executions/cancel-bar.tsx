import { Button, Group, Paper, Text } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import type { z } from "zod";
import type { CancelledExecutions } from "../../../domain/api/executions.ts";
import { CANCELLED_AT_ONCE_MAX } from "../../../domain/api/limits.ts";
import { callApi } from "../app/api.ts";
import { StopIcon } from "../app/icons.tsx";
import classes from "./cancel-bar.module.css";

interface Outcome {
  readonly cancelled: number;
  readonly ended: number;
}

/** Cancels the chosen executions together. At the lower end of the window, so that nothing moves when it comes. */
export function CancelBar(props: {
  chosen: readonly string[];
  all: readonly string[];
  onChoose: (ids: string[]) => void;
}) {
  const { chosen, all, onChoose } = props;
  const known = useQueryClient();
  const cancel = useMutation({
    mutationFn: cancelAll,
    onSuccess(outcome) {
      onChoose([]);
      notifications.show({ message: toWords(outcome) });
    },
    onError: (error) => notifications.show({ color: "red", title: "Not all were cancelled", message: error.message }),
    onSettled: () => known.invalidateQueries({ queryKey: ["executions"] }),
  });
  if (chosen.length === 0) return null;
  return (
    <Paper className={classes.bar} role="region" aria-label="Chosen runs" shadow="md">
      <Text role="status">{countRuns(chosen.length)} chosen</Text>
      <Group gap="xs" ml="auto">
        {chosen.length < all.length && (
          <Button variant="subtle" onClick={() => onChoose([...all])}>
            Choose all {all.length}
          </Button>
        )}
        <Button variant="subtle" color="gray" onClick={() => onChoose([])}>
          Choose none
        </Button>
        <Button color="red" leftSection={<StopIcon />} loading={cancel.isPending} onClick={() => cancel.mutate(chosen)}>
          {chosen.length === 1 ? "Cancel it" : `Cancel all ${chosen.length}`}
        </Button>
      </Group>
    </Paper>
  );
}

async function cancelAll(ids: readonly string[]): Promise<Outcome> {
  let [cancelled, ended] = [0, 0];
  for (let at = 0; at < ids.length; at += CANCELLED_AT_ONCE_MAX) {
    const executionIds = ids.slice(at, at + CANCELLED_AT_ONCE_MAX);
    const answer = await callApi<z.infer<typeof CancelledExecutions>>("/api/executions/cancel", {
      method: "POST",
      body: { executionIds },
    });
    cancelled += answer.cancelled.length;
    ended += answer.ended.length;
  }
  return { cancelled, ended };
}

function toWords({ cancelled, ended }: Outcome): string {
  const words = `${countRuns(cancelled)} ${cancelled === 1 ? "is" : "are"} being cancelled.`;
  return ended === 0 ? words : `${words} ${countRuns(ended)} had ended by then.`;
}

function countRuns(count: number): string {
  return count === 1 ? "1 run" : `${count} runs`;
}
