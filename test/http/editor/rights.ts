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
  showAccountOverview: "read",
  listLedger: "read",
  showSpend: "read",
  listAccounts: "read",
  createAccount: "operator",
  grantCredits: "operator",
  adjustCredits: "operator",
  showRates: "read",
  agreeRates: "operator",
  agreeStorage: "operator",
  listHosts: "operator",

  listMembers: "read",
  changeRole: "own",
  removeMember: "own",
  linkSignIn: "own",
  invite: "own",
  revokeInvitation: "own",
  lookAtInvitation: "everybody",
  join: "everybody",

  listSecrets: "read",
  setSecret: "own",
  removeSecret: "own",
  showSecretHistory: "read",
  listVariables: "read",
  setVariable: "own",
  removeVariable: "own",
  showVariableHistory: "read",

  listSessions: "self",
  signOutElsewhere: "self",
  endSession: "self",
  changePassword: "self",
  listTokens: "self",
  createToken: "self",
  revokeToken: "self",

  listWorkflows: "read",
  listTemplates: "read",
  readScript: "write",
  describeInstallation: "read",
  createWorkflow: "write",
  showWorkflow: "read",
  renameWorkflow: "write",
  deleteWorkflow: "write",
  listKeys: "read",
  listRefusedCalls: "read",
  showOverview: "read",
  showKey: "write",
  rotateKey: "write",
  endKey: "write",
  listUnrunnable: "read",
  publish: "write",
  previewPublish: "write",
  listSchedules: "read",
  backfill: "write",

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
