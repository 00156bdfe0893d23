import { queryOptions } from "@tanstack/react-query";
import type { z } from "zod";
import type { ExecutionRecord } from "../../../domain/api/executions.ts";
import type { JsonValue } from "../../../domain/manifest/json-values.ts";
import { callApi } from "../app/api.ts";

/** How often a run that may be tried again is looked at while it goes on. */
const ATTEMPTS_MS = 2_000;

type Record = z.infer<typeof ExecutionRecord>;
export type OutputFile = Record["files"][number];
export type InputFileLine = Record["inputFiles"][number];
export type Attempt = Record["attempts"][number];
export type Progress = NonNullable<Record["progress"]>;

/** An execution in full, as its page shows it. Secrets are "•••". */
export type Execution = Omit<Record, "inputs"> & { readonly inputs: Readonly<{ [input: string]: JsonValue }> };

/**
 * Whether an execution was refused before its inputs were read, so that none of them are on record. Those of a schedule
 * are the schedule's, and are there.
 */
export function lacksInputs({ failure, trigger, startedAt, inputs, inputFiles }: Execution): boolean {
  const isRefused = failure === "insufficient_credits" && trigger !== "schedule" && startedAt === null;
  return isRefused && Object.keys(inputs).length + inputFiles.length === 0;
}

export function executionQuery(executionId: string) {
  return queryOptions({
    queryKey: ["executions", "one", executionId],
    queryFn: ({ signal }) => callApi<Execution>(`/api/executions/${executionId}`, { signal }),
    // Its attempts come and go without another state.
    refetchInterval: ({ state: { data } }) =>
      data !== undefined && data.finishedAt === null && data.limits.attemptsMax > 1 ? ATTEMPTS_MS : false,
  });
}
