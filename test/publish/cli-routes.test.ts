import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { queryRows } from "../../db/connect.ts";
import { ROUTE_NAMES, ROUTES, type RouteName } from "../../src/http/routes/table.ts";
import type { PublisherDeps } from "../../src/publish/publish.ts";
import { someEditorParts } from "../http/editor/parts.ts";
import { fakeEnvironments } from "../http/operator/operator-service.ts";
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

const BY_OPERATOR = "The command uses the operator's route, which does the same and more.";

/**
 * What the pages can do the command line can, by the same routes: each route of the editor with the command that uses it. They run in
 * this order, as the owner of an account.
 */
const USES: Readonly<Record<string, Use>> = {
  listTemplates: () => ["workflows", "templates"],
  createEditorWorkflow: () => ["workflows", "create", "Of a template", "--template", "hello"],
  listEditorWorkflows: () => ["workflows", "overview", "--search", "walked"],
  showEditorWorkflow: ({ workflowId }) => ["workflows", "show", workflowId],
  renameWorkflow: ({ workflowId }) => ["workflows", "rename", workflowId, "Walked over"],
  showEditorService: {
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
  readBuildLog: { reason: BY_OPERATOR, instead: ({ workflowId }) => ["workflows", "build-log", workflowId] },

  showKey: { reason: BY_OPERATOR, instead: ({ workflowId }) => ["key", "show", workflowId] },
  rotateKey: { reason: BY_OPERATOR, instead: ({ workflowId }) => ["key", "rotate", workflowId, "--grace", "1h"] },
  endPreviousKeys: ({ workflowId }) => ["key", "end-previous", workflowId],

  listExecutions: ({ workflowId }) => ["executions", "list", "--workflow", workflowId, "--state", "success"],
  showExecutionRecord: ({ executionId }) => ["executions", "record", executionId],
  readInputFile: ({ executionId, folder }) => [
    ...["executions", "download", executionId, join(folder, "inputs"), "--inputs"],
  ],
  cancelExecutions: ({ executionId, answers }) => [
    ...["executions", "cancel", executionId, String(answers["executeDraft"]?.["executionId"])],
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
  changePassword: { reason: "A password is changed by whoever is signed in with it; access tokens are refused." },
  createToken: () => ["tokens", "create", "another"],
  listTokens: () => ["tokens", "list"],
  revokeToken: ({ answers }) => ["tokens", "revoke", String(answers["createToken"]?.["tokenId"])],

  deleteWorkflow: { reason: BY_OPERATOR, instead: ({ workflowId }) => ["workflows", "delete", workflowId] },
};

const EDITOR_ROUTES = ROUTE_NAMES.filter((name) => ROUTES[name].path.startsWith("/api/editor/"));

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
    ...{ "config.yaml": `${config}# Written over\n`, "main.py": "print(2)\n", "requirements.txt": "leftpad\n" },
  });
  world = {
    ...{ workflowId, commitId, executionId: executionId as string, sessionId: session?.id as string },
    ...{ guest: guest.email, folder, answers: {} },
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

test("routes, of the editor, are each used by a command, or there is a reason", () => {
  expect(Object.keys(USES).sort()).toEqual([...EDITOR_ROUTES].sort());
});

test("commands, each of a route of the editor, do what they are asked by that route", async () => {
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
