/**
 * Everything that can go wrong for a caller, and the fixed `error` text of its answer. The interface specification
 * fixes `Unauthorized` and `Insufficient credits`; the rest is ours. `src/http/errors.ts` gives each its HTTP status,
 * `docs/errors.md` explains each to people.
 */
export const ERROR_TEXT = {
  invalid_request: "Invalid request",
  unauthorized: "Unauthorized",
  insufficient_credits: "Insufficient credits",
  api_trigger_disabled: "API trigger disabled",
  forbidden: "Forbidden",
  workflow_not_found: "Workflow not found",
  not_found: "Not found",
  method_not_allowed: "Method not allowed",
  conflict: "Conflict",
  payload_too_large: "Payload too large",
  unsupported_media_type: "Unsupported media type",
  range_not_satisfiable: "Range not satisfiable",
  rate_limited: "Rate limit exceeded",
  too_many_executions: "Too many executions",
  storage_full: "Storage full",
  execution_failed: "Execution failed",
  no_capacity: "Service busy",
  internal: "Internal server error",
} as const;

export type ErrorCode = keyof typeof ERROR_TEXT;

/** One problem of a request, named by the input it belongs to. */
export interface InputProblem {
  readonly input: string;
  readonly message: string;
}

/** One problem of a published folder, at a place in a file (1-based line and column). */
export interface FileProblem {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  readonly message: string;
  /** What would end it. Only of some warnings. */
  readonly fix?: FileFix | undefined;
}

/** Replacements in a file that belong together: each of the text from one place up to another (1-based lines and columns). */
export interface FileFix {
  /** For a button, such as "Remove unused import: `os`". */
  readonly title: string;
  readonly edits: readonly {
    readonly line: number;
    readonly column: number;
    readonly endLine: number;
    readonly endColumn: number;
    readonly text: string;
  }[];
}
