import { expect, test } from "@jest/globals";
import { findExecution } from "../../db/executions/executions.ts";
import type { ExecutionId } from "../../domain/ids.ts";
import { aWorkflow } from "../support/builders.ts";
import { aFileService } from "./service.ts";

const service = await aFileService({ waitMaxSeconds: 0.2, run: async () => undefined });

test("execute, that takes longer than a caller may wait, answers 202 with where to look", async () => {
  const workflow = await aWorkflow(service.db);
  const answer = await service.call(`/api/workflows/${workflow.workflowId}/execute`, {
    method: "POST",
    headers: { "x-api-key": workflow.apiKey, "content-type": "application/json" },
    body: "{}",
  });
  const executionId = answer.headers["x-execution-id"] as ExecutionId;
  expect([answer.status, answer.json()]).toEqual([
    202,
    { status: "running", executionId, duration: 0, outputs: {}, cost: { compute: 0, total: 0 } },
  ]);
  expect(answer.headers).toMatchObject({ location: `${service.apiUrl}/run-logs/${executionId}`, "retry-after": "5" });
  expect((await findExecution(service.db, executionId))?.state).toBe("queued");
});
