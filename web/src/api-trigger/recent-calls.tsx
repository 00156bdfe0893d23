import { Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { z } from "zod";
import type { ExecutionPage } from "../../../domain/api/executions.ts";
import { callApi, toQuery } from "../app/api.ts";
import { Credits } from "../app/credits.tsx";
import { Refusal } from "../app/refusal.tsx";
import { LoadingRows } from "../app/states.tsx";
import { Time } from "../app/time.tsx";
import { toDuration } from "../app/time-text.ts";
import { State } from "../executions/state.tsx";
import classes from "./api-tab.module.css";

const SHOWN = 8;

/** The last calls with the key, and what became of them. */
export function RecentCalls({ workflowId }: { workflowId: string }) {
  const found = useQuery({
    queryKey: ["executions", "calls", workflowId],
    queryFn: ({ signal }) => {
      const query = toQuery({ workflow: workflowId, trigger: "api", limit: SHOWN });
      return callApi<z.infer<typeof ExecutionPage>>(`/api/executions${query}`, { signal });
    },
  });
  const calls = found.data?.executions ?? [];
  return (
    <section className={classes.card} aria-labelledby="api-calls">
      <div className={classes.head}>
        <h2 id="api-calls" className={classes.title}>
          Recent calls
        </h2>
        {calls.length > 0 && (
          <Link to="/workflows/$workflowId/runs" params={{ workflowId }} search={{ trigger: "api" }}>
            All of them
          </Link>
        )}
      </div>
      {found.isPending && <LoadingRows count={3} height={28} label="The calls are loading" />}
      <Refusal error={found.error} />
      {found.isSuccess && calls.length === 0 && <Text c="dimmed">Nobody has called it yet.</Text>}
      <ul className={classes.calls}>
        {calls.map(({ executionId, status, createdAt, duration, cost }) => (
          <li key={executionId}>
            <Link to="/executions/$executionId" params={{ executionId }} className={classes.call}>
              <State state={status} />
              <Time at={createdAt} />
              <span className="number">{duration === null ? "" : toDuration(duration)}</span>
              <span>{cost !== null && <Credits amount={cost} unit />}</span>
            </Link>
          </li>
        ))}
      </ul>
    </section>
  );
}
