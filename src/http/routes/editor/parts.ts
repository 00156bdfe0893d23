import type { JsonValue } from "../../../../domain/manifest/json-values.ts";
import type { JsonSchema } from "../../../../domain/manifest/value-schema.ts";
import { answerWith, describeFields, orNull, TEXT, TIME } from "../content.ts";
import type { Answer, Parameter } from "../route.ts";

export const COUNT: JsonSchema = { type: "integer", minimum: 0 };
export const FLAG: JsonSchema = { type: "boolean" };
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

export function answer(description: string, schema: JsonSchema, example: JsonValue): Answer {
  return { description, content: answerWith(schema, example) };
}

/** What is wrong with a file, as publishing says it. */
export const FILE_PROBLEM: JsonSchema = describeFields({
  file: TEXT,
  line: { type: "integer", minimum: 1 },
  column: { type: "integer", minimum: 1 },
  message: TEXT,
});

/** A file with its text; null when it is not text, or too long to be shown. */
export const FILE: JsonSchema = describeFields({ path: TEXT, bytes: COUNT, text: orNull(TEXT), executable: FLAG });

export const COMMIT: Record<string, JsonSchema> = {
  commitId: COMMIT_ID,
  parentId: orNull(COMMIT_ID),
  message: TEXT,
  author: {
    ...orNull(describeFields({ email: TEXT })),
    description: "`operator` as the address is the operator; null: the service, such as its examples.",
  },
  createdAt: TIME,
  executions: { ...COUNT, maximum: 10_000, description: "10000 means so many, or more." },
  isHead: { ...FLAG, description: "Whether it is the latest, which new executions run." },
};

export const COMMIT_EXAMPLE = {
  commitId: A_COMMIT,
  parentId: null,
  message: "Count orders of returned goods",
  author: { email: "ada@example.com" },
  createdAt: "2026-11-02T08:00:00.412Z",
  executions: 12,
  isHead: true,
};
