import type { INTERNAL_ROUTES } from "../../../src/http/routes/internal.ts";
import type { RouteName } from "../../../src/http/routes/table.ts";

/**
 * Who may call a route. `everybody`: nobody has to be known. `read`, `write`, `own`: rights of domain/members.ts, in the account
 * that what is asked for belongs to. `self`: everybody, about what is their own alone. `operator`: the operator's token.
 */
export type Access = "everybody" | "read" | "write" | "own" | "self" | "operator";

/** Every route of the table has to be in here: who may call it is decided, not left to chance. */
export const ACCESS: Readonly<Record<RouteName, Access>> = {
  executeWorkflow: "write",
  validateInputs: "read",
  describeWorkflow: "read",
  showWorkflowDocs: "everybody",

  showExecution: "read",
  readLog: "read",
  cancelExecution: "write",
  readFile: "read",
  linkFile: "write",

  showSchedule: "read",
  listTicks: "read",

  signIn: "everybody",
  showSession: "self",
  signOut: "everybody",

  listExecutions: "read",
  showExecutionRecord: "read",
  readInputFile: "read",
  cancelExecutions: "write",
  followEvents: "read",
  executeDraft: "write",

  showAccount: "read",
  listLedger: "read",
  showSpend: "read",

  listMembers: "read",
  changeRole: "own",
  removeMember: "own",
  linkSignIn: "own",
  invite: "own",
  revokeInvitation: "own",
  lookAtInvitation: "everybody",
  join: "everybody",

  listSessions: "self",
  signOutElsewhere: "self",
  endSession: "self",
  changePassword: "self",
  listTokens: "self",
  createToken: "self",
  revokeToken: "self",

  listEditorWorkflows: "read",
  listTemplates: "read",
  showEditorService: "read",
  createEditorWorkflow: "write",
  showEditorWorkflow: "read",
  renameWorkflow: "write",
  deleteWorkflow: "write",
  showKey: "read",
  rotateKey: "write",
  endPreviousKeys: "write",

  showDraft: "read",
  changeDraft: "write",
  discardDraft: "write",
  rebaseDraft: "write",
  settleDraft: "write",
  readDraftFile: "read",
  previewDraft: "read",

  commitDraft: "write",
  listCommits: "read",
  showCommit: "read",
  restoreCommit: "write",
  readBuildLog: "read",
  compareCommits: "read",
  switchSchedule: "write",
  showBuild: "read",

  showAlive: "everybody",
  showReadiness: "everybody",
  readMetrics: "everybody",
  describeService: "everybody",
  showDocs: "everybody",
  readDocsAsset: "everybody",
};

type InternalRoute = (typeof INTERNAL_ROUTES)[number]["routes"][number];

/** Those of the command line alone, each for holders of an access token. What is not in here is `read` by GET, `write` otherwise. */
export const INTERNAL_ACCESS: Readonly<Record<InternalRoute, Access>> = {
  // It shows the key.
  "GET /workflows/{workflowId}/key": "write",
  "POST /accounts": "operator",
  "POST /credits/grants": "operator",
  "POST /credits/adjustments": "operator",
  "PUT /rates": "operator",
};
