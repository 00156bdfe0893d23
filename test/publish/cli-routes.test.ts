import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { queryRows } from "../../db/connect.ts";
import { ROUTE_NAMES, ROUTES, type RouteName } from "../../src/http/routes/table.ts";
import type { PublisherDeps } from "../../src/publish/publish.ts";
import { fakeEnvironments, someEditorParts } from "../http/editor/parts.ts";
import { aMember, anAccount, type TestMember } from "../support/builders.ts";
import { aCliService, type CliService } from "./cli-service.ts";

/** What the commands are about, and what those before have answered, by route. */
interface World {
  readonly workflowId: string;
  readonly commitId: string;
  readonly executionId: string;
  readonly sessionId: string;
  readonly guest: string;
  readonly folder: string;
  readonly answers: Record<string, Record<string, unknown>>;
}

interface Reason {
  readonly reason: string;
  /** The command that does the same in another way. */
  readonly instead?: (world: World) => readonly string[];
}

/** The command that uses a route, or why none does. */
type Use = ((world: World) => readonly string[]) | Reason;

const OF_OPERATOR = "Its command is for the operator's token: see the commands of accounts and credits.";

/**
 * What the pages can do the command line can, by the same routes: each route for people with the command that uses it. They run in
 * this order, as the owner of an account.
 */
const USES: Readonly<Record<string, Use>> = {
  listTemplates: () => ["workflows", "templates"],
  readScript: ({ folder }) => ["init", join(folder, "main.py"), join(folder, "made")],
  createWorkflow: () => ["workflows", "create", "Of a template", "--template", "hello"],
  listWorkflows: () => ["workflows", "list", "--search", "walked"],
  showWorkflow: ({ workflowId }) => ["workflows", "show", workflowId],
  renameWorkflow: ({ workflowId }) => ["workflows", "rename", workflowId, "Walked over"],
  describeInstallation: {
    reason: "It tells where the service is and whose certificate it has: a command knows both before it asks.",
  },

  showDraft: ({ workflowId }) => ["drafts", "show", workflowId],
  changeDraft: ({ workflowId, folder }) => ["drafts", "save", workflowId, folder],
  readDraftFile: ({ workflowId, folder }) => ["drafts", "get", workflowId, "main.py", join(folder, "got.py")],
  previewDraft: ({ workflowId }) => ["drafts", "preview", workflowId],
  compareCommits: ({ workflowId }) => ["commits", "diff", workflowId],
  executeDraft: ({ workflowId }) => ["run", workflowId, "--draft"],
  // It commits a change of config.yaml, which the draft has changed, too.
  switchSchedule: ({ workflowId }) => ["schedules", "pause", workflowId],
  declareSchedule: {
    reason: "It writes config.yaml for people who do not see it. Those with a folder have that file, and publish it.",
  },
  rebaseDraft: ({ workflowId }) => ["drafts", "take-over", workflowId],
  settleDraft: ({ workflowId }) => ["drafts", "settle", workflowId, "config.yaml"],
  commitDraft: ({ workflowId }) => ["drafts", "commit", workflowId, "-m", "Walk"],
  discardDraft: ({ workflowId }) => ["drafts", "discard", workflowId],

  listCommits: ({ workflowId }) => ["commits", "list", workflowId],
  showCommit: ({ workflowId }) => ["commits", "show", workflowId],
  restoreCommit: ({ workflowId, commitId }) => ["commits", "restore", workflowId, commitId],
  // Its environment takes its time: what is answered is a build, and then looked at.
  showBuild: ({ workflowId, answers }) => [
    "commits",
    "restore",
    workflowId,
    String(answers["commitDraft"]?.["commitId"]),
  ],
  readBuildLog: ({ workflowId }) => ["workflows", "build-log", workflowId],

  showKey: ({ workflowId }) => ["key", "show", workflowId],
  rotateKey: ({ workflowId }) => ["key", "rotate", workflowId, "--grace", "1h"],
  listKeys: ({ workflowId }) => ["key", "list", workflowId],
  endKey: ({ workflowId, answers }) => [
    "key",
    "end",
    workflowId,
    (answers["listKeys"] as { keys: { keyId: string }[] }).keys[1]?.keyId ?? "",
  ],
  showAccountOverview: { reason: "It is what the first page draws. `executions list` and `credits` have the parts." },
  showOverview: { reason: "It is what the pages draw. `executions list` has the executions themselves." },
  listRefusedCalls: { reason: "The API tab shows them. A program that is refused has the answer itself." },
  listUnrunnable: { reason: "`doctor` asks for it when /readyz says that there are some." },
  publish: ({ workflowId, folder }) => ["publish", folder, "--workflow", workflowId, "--force"],
  previewPublish: ({ workflowId, folder }) => ["publish", folder, "--workflow", workflowId, "--dry-run"],
  listSchedules: () => ["schedules", "list"],
  backfill: { reason: "Its own tests run it: it needs a schedule that has been due." },
  listAccounts: () => ["accounts", "list"],
  showRates: () => ["rates", "show"],
  listHosts: { reason: OF_OPERATOR },
  createAccount: { reason: OF_OPERATOR },
  grantCredits: { reason: OF_OPERATOR },
  adjustCredits: { reason: OF_OPERATOR },
  agreeRates: { reason: OF_OPERATOR },
  agreeStorage: { reason: OF_OPERATOR },

  listExecutions: ({ workflowId }) => ["executions", "list", "--workflow", workflowId, "--state", "success"],
  showExecutionRecord: ({ executionId }) => ["executions", "record", executionId],
  readInputFile: ({ executionId, folder }) => [
    "executions",
    "download",
    executionId,
    join(folder, "inputs"),
    "--inputs",
  ],
  cancelExecutions: ({ executionId, answers }) => [
    "executions",
    "cancel",
    executionId,
    String(answers["executeDraft"]?.["executionId"]),
  ],
  followEvents: {
    reason: "It tells open pages when to ask again. A command asks when it is called, and `run` until the end.",
  },

  showAccount: () => ["accounts", "show"],
  listLedger: () => ["credits", "ledger"],
  showSpend: () => ["credits", "spend", "--days", "7"],

  listMembers: () => ["members", "list"],
  changeRole: ({ guest }) => ["members", "set-role", guest, "viewer"],
  linkSignIn: ({ guest }) => ["members", "sign-in-link", guest],
  removeMember: ({ guest }) => ["members", "remove", guest],
  invite: () => ["invitations", "create", "invited@example.test"],
  revokeInvitation: ({ answers }) => ["invitations", "revoke", String(answers["invite"]?.["invitationId"])],

  listSessions: () => ["sessions", "list"],
  endSession: ({ sessionId }) => ["sessions", "end", sessionId],
  signOutElsewhere: () => ["sessions", "end", "--all"],
  createToken: () => ["tokens", "create", "another"],
  listTokens: () => ["tokens", "list"],
  setSecret: () => ["secrets", "set", "TOKEN"],
  listSecrets: () => ["secrets", "list"],
  showSecretHistory: () => ["secrets", "history", "TOKEN"],
  removeSecret: () => ["secrets", "remove", "TOKEN"],
  setVariable: ({ workflowId }) => ["vars", "set", "LEVEL", "--workflow", workflowId],
  listVariables: () => ["vars", "list"],
  showVariableHistory: ({ workflowId }) => ["vars", "history", "LEVEL", "--workflow", workflowId],
  removeVariable: ({ workflowId }) => ["vars", "remove", "LEVEL", "--workflow", workflowId],
  addPlace: () => ["notify", "add", "ops", "https://127.0.0.1:9/hook", "--kind", "webhook"],
  listPlaces: () => ["notify", "list"],
  changePlace: () => ["notify", "change", "ops", "https://127.0.0.1:9/other"],
  rotatePlaceSecret: () => ["notify", "rotate", "ops", "--grace", "1h"],
  testPlace: () => ["notify", "test", "ops"],
  listNotices: () => ["notify", "sent"],
  sendNoticeAgain: ({ answers }) => ["notify", "resend", String(answers["testPlace"]?.["noticeId"])],
  removePlace: () => ["notify", "remove", "ops"],
  addDestination: { reason: OF_OPERATOR },
  listDestinations: () => ["destinations", "list"],
  removeDestination: { reason: OF_OPERATOR },
  revokeToken: ({ answers }) => ["tokens", "revoke", String(answers["createToken"]?.["tokenId"])],

  deleteWorkflow: ({ workflowId }) => ["workflows", "delete", workflowId],
};

/** Those that need an access token or a session: a workflow's key does not open them. */
const ROUTES_FOR_PEOPLE = ROUTE_NAMES.filter((name) => {
  const { credentials } = ROUTES[name];
  return credentials.includes("accessToken") && !credentials.includes("apiKey");
});

let service: CliService;
let owner: TestMember;
let world: World;
/** What commands have asked for, as `GET /path`. */
let asked: string[] = [];

const note = (message: unknown): void => {
  const { method, path } = (message as { request: { method: string; path: string } }).request;
  asked.push(`${method} ${path.split("?")[0]}`);
};

beforeAll(async () => {
  const environments: PublisherDeps["environments"] = {
    ...fakeEnvironments(),
    async lock(...given) {
      await sleep(300);
      return fakeEnvironments().lock(...given);
    },
  };
  service = await aCliService({ editorParts: (db) => someEditorParts(db, { environments, quickBuildMs: 0 }) });
  const accountId = await anAccount(service.db, { name: "walked" });
  owner = await aMember(service.db, accountId);
  const guest = await aMember(service.db, accountId, "member");
  const [session] = await queryRows<{ id: string }>(service.db, "select id from sessions where user_id = :userId", {
    ...owner,
  });
  const config =
    'name: walked\ninputs:\n  orders: { type: file, required: false }\ntriggers:\n  schedule: { enabled: true, cron: "0 9 * * *" }\n';
  const files = { "config.yaml": config, "main.py": "print(1)\n" };
  const published = await service.cliAs(owner, "publish", service.folder(files), "--json");
  const { workflowId, commitId } = published.json() as Record<string, string>;
  if (workflowId === undefined || commitId === undefined) throw new Error(published.out);
  const orders = `orders=@${join(service.folder({ "orders.csv": "a,b\n" }), "orders.csv")}`;
  const run = await service.cliAs(owner, "run", workflowId, "-f", orders, "--json");
  const { executionId } = run.json() as Record<string, string>;
  const folder = service.folder({
    "config.yaml": `${config}# Written over\n`,
    "main.py": "print(2)\n",
    "requirements.txt": "leftpad\n",
  });
  world = {
    workflowId,
    commitId,
    executionId: executionId as string,
    sessionId: session?.id as string,
    guest: guest.email,
    folder,
    answers: {},
  };
  subscribe("undici:request:create", note);
});

afterAll(async () => {
  unsubscribe("undici:request:create", note);
  await service?.close();
});

function isOf(name: RouteName, call: string): boolean {
  const { method, path } = ROUTES[name];
  const pattern = path.replaceAll(/\{\w+\}/g, "[^/]+");
  return new RegExp(`^${method.toUpperCase()} ${pattern}$`).test(call);
}

test("routes, for people, are each used by a command, or there is a reason", () => {
  expect(Object.keys(USES).sort()).toEqual([...ROUTES_FOR_PEOPLE].sort());
});

test("commands, each of a route for people, do what they are asked by that route", async () => {
  for (const [name, use] of Object.entries(USES)) {
    asked = [];
    const argv = typeof use === "function" ? use(world) : use.instead?.(world);
    if (argv === undefined) continue;
    const result = await service.cliAs(owner, ...argv, "--json");
    expect([name, argv, result.code, result.code === 0 ? "" : result.out + result.err]).toEqual([name, argv, 0, ""]);
    world.answers[name] = result.json();
    if (typeof use === "function")
      expect([name, asked.some((call) => isOf(name as RouteName, call))]).toEqual([name, true]);
  }
});
