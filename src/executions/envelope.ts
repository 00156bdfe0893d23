import type { z } from "zod";
import type { ExecutionRecord } from "../../db/executions/executions.ts";
import type { Sent } from "../../domain/api/fields.ts";
import type { Execution } from "../../domain/api/results.ts";
import { toCredits } from "../../domain/credits.ts";
import { ERROR_TEXT, type ErrorCode } from "../../domain/errors.ts";
import type { ExecutionState } from "../../domain/execution.ts";
import type { ExecutionId } from "../../domain/ids.ts";

const MESSAGES: Partial<Record<ExecutionState, string>> = {
  failed: "The program failed.",
  timed_out: "The program ran longer than its time-out allows.",
  out_of_memory: "The program needed more memory than its limit allows.",
  cancelled: "The execution was cancelled.",
};

type Result = Omit<Sent<z.output<typeof Execution>>, "error" | "message" | "needed" | "available">;

type ResultRecord = Pick<
  ExecutionRecord,
  | "id"
  | "state"
  | "secondsUsed"
  | "chargeCompute"
  | "chargeTotal"
  | "draft"
  | "outputs"
  | "queuePosition"
  | "filesRemovedAt"
  | "logRemovedAt"
>;

/** The five fields of every result; also that it is of a draft, and of one that waits for its turn, where in the queue. */
export function toResult(record: ResultRecord, apiUrl: string): Result {
  return {
    status: record.state,
    executionId: record.id,
    duration: Math.round(record.secondsUsed * 1000) / 1000,
    outputs: Object.fromEntries(
      record.outputs.map(({ name, fileName }) => [name, fileUrl(apiUrl, record.id, fileName)]),
    ),
    cost: { compute: toCredits(record.chargeCompute), total: toCredits(record.chargeTotal) },
    ...(record.draft ? { draft: true } : {}),
    ...(record.queuePosition === null ? {} : { queuePosition: record.queuePosition }),
    ...(record.filesRemovedAt === null ? {} : { filesRemovedAt: record.filesRemovedAt.toISOString() }),
    ...(record.logRemovedAt === null ? {} : { logRemovedAt: record.logRemovedAt.toISOString() }),
  };
}

/** The result, with `error` and `message` before it when the execution did not succeed. */
export function envelope(
  record: ExecutionRecord,
  apiUrl: string,
): Result | (Result & { error: string; message: string }) {
  const code = failureCode(record);
  const result = toResult(record, apiUrl);
  if (code === undefined) return result;
  return { error: ERROR_TEXT[code], message: explainState(record), ...refusedAmounts(record), ...result };
}

/** Of an execution that was refused for want of credits: what it may have cost, and what the account had, in credits. */
export function refusedAmounts({
  creditsNeeded,
  creditsAvailable,
}: Pick<ExecutionRecord, "creditsNeeded" | "creditsAvailable">): { needed?: number; available?: number } {
  if (creditsNeeded === null || creditsAvailable === null) return {};
  return { needed: toCredits(creditsNeeded), available: toCredits(creditsAvailable) };
}

export function executionUrl(apiUrl: string, executionId: ExecutionId): string {
  return `${apiUrl}/run-logs/${executionId}`;
}

export function fileUrl(apiUrl: string, executionId: ExecutionId, fileName: string): string {
  return `${executionUrl(apiUrl, executionId)}/files/${encodeURIComponent(fileName)}`;
}

/** Which error an ended execution is to its caller; undefined for a success and for one that has not ended. */
export function failureCode(record: ExecutionRecord): ErrorCode | undefined {
  if (record.failure !== null) return record.failure;
  return ["success", "queued", "running"].includes(record.state) ? undefined : "execution_failed";
}

/** Why an execution did not succeed; empty while it goes on, and when it did. */
export function explainState({ state, message }: Pick<ExecutionRecord, "state" | "message">): string {
  return message === "" ? (MESSAGES[state] ?? "") : message;
}
