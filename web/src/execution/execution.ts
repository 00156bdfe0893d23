import { queryOptions } from "@tanstack/react-query";
import type { z } from "zod";
import type { ExecutionRecord } from "../../../domain/api/executions.ts";
import type { JsonValue } from "../../../domain/manifest/json-values.ts";
import { callApi } from "../app/api.ts";

type Record = z.infer<typeof ExecutionRecord>;
export type OutputFile = Record["files"][number];
export type InputFileLine = Record["inputFiles"][number];
export type Attempt = Record["attempts"][number];
export type Progress = NonNullable<Record["progress"]>;

/** An execution in full, as its page shows it. Secrets are "•••". */
export type Execution = Omit<Record, "inputs"> & { readonly inputs: Readonly<{ [input: string]: JsonValue }> };

export function executionQuery(executionId: string) {
  return queryOptions({
    queryKey: ["executions", "one", executionId],
    queryFn: ({ signal }) => callApi<Execution>(`/api/executions/${executionId}`, { signal }),
  });
}
