import { queryOptions } from "@tanstack/react-query";
import type { ExecutionState, Trigger } from "../../../domain/execution.ts";
import type { JsonTexts } from "../../../domain/manifest/json-text.ts";
import type { JsonValue } from "../../../domain/manifest/json-values.ts";
import { callApi } from "../app/api.ts";
import type { ExecutionLine } from "../executions/executions.ts";

export interface OutputFile {
  readonly name: string;
  readonly fileName: string;
  readonly bytes: number;
  readonly contentType: string;
  readonly url: string;
}

export interface InputFileLine {
  readonly input: string;
  readonly position: number;
  readonly fileName: string;
  readonly bytes: number;
}

export interface Attempt {
  readonly attempt: number;
  readonly startedAt: string;
  readonly endedAt: string | null;
  readonly status: string;
  readonly message: string;
}

export interface Progress {
  /** 0 to 1. */
  readonly fraction: number;
  readonly message: string;
}

/** An execution in full, as its page shows it. */
export interface Execution extends Omit<ExecutionLine, "cost"> {
  readonly trigger: Trigger;
  readonly status: ExecutionState;
  /** Secrets are "•••". */
  readonly inputs: Readonly<Record<string, JsonValue>>;
  /** Inputs of kind `json` as they were sent: browsers change some digits of their values. */
  readonly inputTexts: JsonTexts;
  readonly inputFiles: readonly InputFileLine[];
  readonly files: readonly OutputFile[];
  readonly attempts: readonly Attempt[];
  /** What one like it usually costs, in credits. */
  readonly estimate: { readonly credits: number; readonly basedOn: number } | null;
  readonly queuePosition: number | null;
  readonly slotPosition: number | null;
  readonly progress: Progress | null;
  readonly cost: { readonly compute: number; readonly total: number } | null;
  readonly temporalUrl: string | null;
  readonly cancelRequestedAt: string | null;
  readonly filesRemovedAt?: string | null;
  readonly logRemovedAt?: string | null;
}

export function executionQuery(executionId: string) {
  return queryOptions({
    queryKey: ["executions", "one", executionId],
    queryFn: ({ signal }) => callApi<Execution>(`/api/editor/executions/${executionId}`, { signal }),
  });
}
