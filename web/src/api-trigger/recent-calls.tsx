import { Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { z } from "zod";
import type { ExecutionPage } from "../../../domain/api/executions.ts";
import type { RefusedCallList } from "../../../domain/api/keys.ts";
import { callApi, toQuery } from "../app/api.ts";
import { Credits } from "../app/credits.tsx";
import { Refusal } from "../app/refusal.tsx";
import { LoadingRows } from "../app/states.tsx";
import { Time } from "../app/time.tsx";
import { toDuration } from "../app/time-text.ts";
import { State } from "../executions/state.tsx";
import classes from "./api-tab.module.css";

const SHOWN = 12;
/** Nothing tells the page of a refused call: it started nothing. */
const LOOK_AGAIN_MS = 10_000;

type Accepted = z.infer<typeof ExecutionPage>["executions"][number];
type Refused = z.infer<typeof RefusedCallList>["calls"][number];
type Call = { readonly at: string } & ({ readonly accepted: Accepted } | { readonly refused: Refused });

/** The last calls with the key and what became of them, those that were refused included. */
export function RecentCalls({ workflowId }: { workflowId: string }) {
  const found = useQuery({
    queryKey: ["executions", "calls", workflowId],
    queryFn: ({ signal }) => fetchCalls(workflowId, signal),
    refetchInterval: LOOK_AGAIN_MS,
  });
  const calls = found.data ?? [];
  return (
    <section className={classes.card} aria-labelledby="api-calls">
      <div className={classes.head}>
        <div>
          <h2 id="api-calls" className={classes.title}>
            Recent calls
          </h2>
          <Text size="sm" c="dimmed">
            Refused calls are kept for a week.
          </Text>
        </div>
        {calls.length > 0 && (
          <Link
            to="/workflows/$workflowId/runs"
            params={{ workflowId }}
            search={{ trigger: "api" }}
            className="aside-link"
          >
            All runs by API
          </Link>
        )}
      </div>
      {found.isPending && <LoadingRows count={3} height={28} label="The calls are loading" />}
      <Refusal error={found.error} />
      {found.isSuccess && calls.length === 0 && <Text c="dimmed">No calls yet.</Text>}
      <ul className={classes.calls}>
        {calls.map((call) =>
          "accepted" in call ? (
            <AcceptedCall key={call.accepted.executionId} call={call.accepted} />
          ) : (
            <RefusedCall key={`${call.at} ${call.refused.message}`} call={call.refused} />
          ),
        )}
      </ul>
    </section>
  );
}

async function fetchCalls(workflowId: string, signal: AbortSignal): Promise<Call[]> {
  const query = toQuery({ workflow: workflowId, trigger: "api", limit: SHOWN });
  const [{ executions }, { calls }] = await Promise.all([
    callApi<z.infer<typeof ExecutionPage>>(`/api/executions${query}`, { signal }),
    callApi<z.infer<typeof RefusedCallList>>(`/api/workflows/${workflowId}/refused-calls`, { signal }),
  ]);
  const all: Call[] = [
    ...executions.map((accepted) => ({ at: accepted.createdAt, accepted })),
    ...calls.map((refused) => ({ at: refused.refusedAt, refused })),
  ];
  return all.toSorted((one, other) => Date.parse(other.at) - Date.parse(one.at)).slice(0, SHOWN);
}

function AcceptedCall({ call: { executionId, status, failure, createdAt, duration, cost } }: { call: Accepted }) {
  return (
    <li>
      <Link to="/executions/$executionId" params={{ executionId }} className={classes.call}>
        <State state={status} failure={failure} />
        <Time at={createdAt} />
        <span className="number">{duration === null ? "" : toDuration(duration)}</span>
        <span>{cost !== null && <Credits amount={cost} unit />}</span>
      </Link>
    </li>
  );
}

function RefusedCall({ call: { refusedAt, status, error, message, keyEnd } }: { call: Refused }) {
  return (
    <li className={classes.refusedCall}>
      <div className={classes.call}>
        <span className={classes.refused}>
          Refused <span className="number">{status}</span>
        </span>
        <Time at={refusedAt} />
        <span className={classes.reason}>
          {error}
          {keyEnd !== "" && (
            <>
              {" "}
              · key <code>…{keyEnd}</code>
            </>
          )}
        </span>
      </div>
      <p className={classes.callMessage}>{message}</p>
    </li>
  );
}
