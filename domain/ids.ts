declare const brand: unique symbol;
type Branded<Name extends string> = string & { readonly [brand]: Name };

export type AccountId = Branded<"AccountId">;
export type WorkflowId = Branded<"WorkflowId">;
export type ExecutionId = Branded<"ExecutionId">;
export type UploadId = Branded<"UploadId">;
/** The git commit hash of the commit's content: 40 lower-case hex digits. */
export type CommitId = Branded<"CommitId">;

const SHAPES = {
  workflow: /^wf_[0-9a-z]{16,40}$/,
  execution: /^ex_[0-9a-z]{16,40}$/,
  upload: /^up_[0-9a-z]{16,40}$/,
  commit: /^[0-9a-f]{40}$/,
} as const;

export function isWorkflowId(text: string): text is WorkflowId {
  return SHAPES.workflow.test(text);
}

export function isExecutionId(text: string): text is ExecutionId {
  return SHAPES.execution.test(text);
}

export function isUploadId(text: string): text is UploadId {
  return SHAPES.upload.test(text);
}

export function isCommitId(text: string): text is CommitId {
  return SHAPES.commit.test(text);
}
