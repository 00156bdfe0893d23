import { z } from "zod";
import { ERROR_TEXT, type ErrorCode } from "../errors.ts";
import { Count, NamedExecutionId } from "./fields.ts";
import { NamedFileProblem, NamedInputProblem } from "./problems.ts";
import { REFUSED_AMOUNTS, RESULT, RESULT_REMARKS } from "./results.ts";

const Message = z.string().meta({ description: "For a person: what is wrong and what to do. May change." });
const OPTIONAL_RESULT = z.object(RESULT).partial().shape;

// The file's problem first: a schema of fewer fields would take it, and leave out its place.
const Problem = z.union([NamedFileProblem, NamedInputProblem]);

const Problems = z.array(Problem).optional().meta({ description: "Every problem at once." });

/** What an answer has beside `error` and `message`, for each error that has more. */
const FIELDS: Partial<Record<ErrorCode, z.ZodRawShape>> = {
  invalid_request: {
    details: Problems,
    buildId: z.string().optional().meta({ description: "Of a commit: the record of how it was made." }),
    buildLog: z.string().optional().meta({ description: "Of a commit: what making its environment printed." }),
  },
  insufficient_credits: {
    ...REFUSED_AMOUNTS,
    executionId: NamedExecutionId.optional().meta({
      description: "Where it was accepted before it was refused.",
    }),
  },
  conflict: {
    executionId: NamedExecutionId.optional().meta({
      description: "The execution that the Idempotency-Key belongs to.",
    }),
    head: z.string().nullable().optional().meta({
      description: "Of a commit: the workflow's latest, when it is another than expected.",
    }),
    version: Count.optional().meta({ description: "Of a draft: the stored version, when it is another." }),
  },
  payload_too_large: { details: Problems },
  storage_full: {
    kept: Count.meta({ description: "The bytes that the account keeps." }),
    allowed: Count.meta({ description: "The bytes that it may keep." }),
  },
  execution_failed: { ...RESULT, ...RESULT_REMARKS },
  internal: {
    requestId: z.string().optional().meta({ description: "Where the operator finds it in the log." }),
    ...OPTIONAL_RESULT,
    ...RESULT_REMARKS,
  },
  no_capacity: { ...OPTIONAL_RESULT, ...RESULT_REMARKS },
};

/** Returns the schema of the answer to an error: its fixed text, a message, and what else it has. */
export function errorAnswer(code: ErrorCode): z.ZodObject {
  return z.object({ error: z.literal(ERROR_TEXT[code]), message: Message, ...FIELDS[code] });
}
