import type { JsonSchema } from "../../../domain/manifest/value-schema.ts";
import type { Parameter } from "./route.ts";

export const COMMIT_ID: JsonSchema = { type: "string", pattern: "^[0-9a-f]{40}$", maxLength: 40 };

export const COMMIT_ID_PARAMETER: Parameter = {
  name: "commitId",
  in: "path",
  required: true,
  description: "A commit of the workflow.",
  schema: COMMIT_ID,
};

/** Of `workflowId` in examples. */
export const A_WORKFLOW = "wf_06d1k7q2m8v3r5t9w0x4y6z8a1";
export const A_COMMIT = "5f0c9d1b7a3e4f6d8c2b1a0e9f8d7c6b5a4f3e2d";
export const A_BUILD = "bld_06d1k7q2m8v3r5t9w0x4y6z8a1";

export const COMMIT_EXAMPLE = {
  commitId: A_COMMIT,
  parentId: null,
  message: "Count orders of returned goods",
  author: { email: "ada@example.com" },
  createdAt: "2026-11-02T08:00:00.412Z",
  executions: 12,
  isHead: true,
};

export const USAGE_EXAMPLE = {
  basedOn: 42,
  seconds: 1.234,
  memoryBytes: 91_000_000,
  processorSeconds: 0.87,
  limits: { timeoutSeconds: 300, memoryBytes: 512_000_000, cpu: 1 },
};
