import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { queryRows } from "../../../db/connect.ts";
import { ROUTE_NAMES, ROUTES, type RouteName } from "../../../src/http/routes/table.ts";
import { anEndedExecution } from "../../http/service.ts";
import { aCliService, type CliService } from "../../publish/cli-service.ts";
import { aMember, anAccount, type TestMember } from "../../support/builders.ts";
import { watchLoop } from "../../support/loop-watch.ts";
import { readProcessorMs } from "../../support/processor.ts";
import { aLargeChange, aLargeFolder, aPythonChange, BODIES, CONFIGS, toTar } from "./costly.ts";
import { sendBeside } from "./sending.ts";

/** What one turn of the event loop may compute, on a machine that parses `CONTROL` in 25 ms. */
const TURN_MS_MAX = 100;
const CONTROL = JSON.stringify(Array.from({ length: 250_000 }, () => []));
const CONTROL_MS = 25;
/** A first call loads and compiles code, and any may meet a collection of garbage: a stand is what happens each time. */
const TRIES = 6;

interface Call {
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
  /** What says that the work was done. */
  readonly status?: number;
}

type Calls = readonly (() => Call | Promise<Call>)[];

let service: CliService;
let owner: TestMember;
const places: Record<string, string> = { fileName: "report.txt", asset: "docs.css", input: "any", position: "0" };

async function send(name: string, route: { method: string; path: string }, call: Call = {}) {
  const path = (call.path ?? route.path).replaceAll(/\{(\w+)\}/g, (_all, place: string) =>
    encodeURIComponent(places[place] ?? `no-${place}`),
  );
  const hasBody = route.method === "POST" || route.method === "PUT";
  const body = call.body ?? (hasBody ? "{}" : undefined);
  const type = route.path.startsWith("/api/publish") ? "application/x-tar" : "application/json";
  const sent = {
    server: { url: service.url, cert: service.cert },
    path,
    method: route.method,
    headers: {
      authorization: `Bearer ${owner.token}`,
      ...(body === undefined ? {} : { "content-type": type, "content-length": String(Buffer.byteLength(body)) }),
      ...call.headers,
    },
    body: body === undefined ? null : Buffer.from(body),
  };
  const sending = sendBeside(sent);
  const watch = watchLoop();
  const answer = await sending;
  const turnMs = watch.stop();
  if (call.status !== undefined && answer.status !== call.status)
    throw new Error(`${name} answered ${answer.status} and not ${call.status}: ${answer.text}`);
  if (answer.status >= 500) throw new Error(`${name} answered ${answer.status}: ${answer.text}`);
  return { turnMs, text: answer.text };
}

/** The least of some tries, each with a call of its own, as it would be on the machine of the control. */
async function measure(name: string, route: { method: string; path: string }, call: () => Call | Promise<Call>) {
  let least = Number.POSITIVE_INFINITY;
  for (let tries = 0; tries < TRIES && least >= TURN_MS_MAX; tries += 1) {
    const { turnMs } = await send(name, route, await call());
    least = Math.min(least, turnMs / Math.max(1, measureControl() / CONTROL_MS));
  }
  return least;
}

/** Processor time of a fixed piece of work: a machine with much else to do computes at half its speed. */
function measureControl(): number {
  const since = readProcessorMs();
  JSON.parse(CONTROL);
  return readProcessorMs() - since;
}

beforeAll(async () => {
  // Comparing each answer with its schema is for tests alone, and takes a large answer longer than making it.
  service = await aCliService({ metrics: async () => "", checksAnswers: false });
  const { db } = service;
  const accountId = await anAccount(db, { name: "costly" });
  owner = await aMember(db, accountId);
  for (const [name, config] of Object.entries({
    uploads: CONFIGS.uploads,
    patterned: CONFIGS.patterned,
    chosen: CONFIGS.chosen,
  })) {
    const files = name === "patterned" ? aLargeFolder("before", config) : aLargeFolder("x", config).slice(0, 2);
    const published = await service.call(`/api/publish?account=costly&name=${name}`, {
      method: "POST",
      headers: { authorization: `Bearer ${owner.token}`, "content-type": "application/x-tar" },
      body: toTar(files),
    });
    if (published.status !== 201) throw new Error(`${name} was not published: ${published.text()}`);
    const { workflowId, commitId, apiKey } = published.json() as Record<"workflowId" | "commitId" | "apiKey", string>;
    if (name !== "patterned") places[`${name}Id`] = workflowId;
    else Object.assign(places, { workflowId, commitId, apiKey });
  }
  const begun = await service.call(`/api/workflows/${places["uploadsId"]}/uploads`, {
    method: "POST",
    headers: { authorization: `Bearer ${owner.token}`, "content-type": "application/json" },
    body: BODIES.upload,
  });
  places["uploadId"] = String((begun.json() as { uploadId?: string }).uploadId);
  const [workflow] = await queryRows<{ manifest: object }>(db, `select manifest from commits where id = :id`, {
    id: places["commitId"],
  });
  const target = { accountId, workflowId: places["workflowId"], commitId: places["commitId"], ...workflow };
  const logLine = (at: number) =>
    `${JSON.stringify({ id: at, time: "2026-01-01T00:00:00Z", stream: "stdout", text: "\u0001".repeat(20) })}\n`;
  places["executionId"] = await anEndedExecution(service, target as never, {
    outputs: { "report.txt": { content: "x".repeat(20_000_000) } },
    log: Array.from({ length: 50_000 }, (_, at) => logLine(at)),
  });
});

afterAll(() => service?.close());

let version = 0;
async function changeAll(seed: string, count: number): Promise<Call> {
  return { body: aLargeChange(version++, seed, count), status: 200 };
}

const events = { headers: { accept: "text/event-stream" } };
/** The most expensive requests of the routes whose cost a caller chooses. In order: some need what others have made. */
const COSTLY: Partial<Record<RouteName, Calls>> = {
  executeWorkflow: [
    () => ({ body: BODIES.patterns, status: 400 }),
    () => ({ body: BODIES.lists, status: 200 }),
    () => ({ body: BODIES.keys, status: 200 }),
  ],
  validateInputs: [
    () => ({ body: BODIES.patterns, status: 400 }),
    () => ({ body: BODIES.lists, status: 200 }),
    () => ({ body: BODIES.unknown, status: 400 }),
    () => ({ path: "/api/workflows/{chosenId}/validate", body: BODIES.wrong, status: 400 }),
  ],
  beginUpload: [() => ({ path: "/api/workflows/{uploadsId}/uploads", body: BODIES.upload, status: 201 })],
  showUpload: [() => ({ path: "/api/workflows/{uploadsId}/uploads/{uploadId}", status: 200 })],
  completeUpload: [() => ({ path: "/api/workflows/{uploadsId}/uploads/{uploadId}/complete", status: 409 })],
  describeWorkflow: [() => ({ status: 200 }), () => ({ path: "/api/workflows/{chosenId}/openapi.json", status: 200 })],
  readLog: [() => ({ status: 200 }), () => ({ ...events, status: 200 })],
  readFile: [() => ({ status: 200 })],
  readFiles: [() => ({ status: 200 })],
  listExecutions: [() => ({ path: "/api/executions?limit=100", status: 200 })],
  followEvents: [() => events],
  readScript: [() => ({ body: JSON.stringify({ name: "a.py", text: "\u0001".repeat(200_000) }), status: 200 })],
  createWorkflow: [() => ({ body: JSON.stringify({ name: "x".repeat(200) }), status: 201 })],
  changeDraft: [
    () => ({ body: aPythonChange(version++), status: 200 }),
    () => changeAll("one", 1),
    () => changeAll("many", 900),
  ],
  showDraft: [() => ({ status: 200 })],
  previewDraft: [() => ({ status: 200 })],
  compareCommits: [() => ({ path: "/api/workflows/{workflowId}/diff?from={commitId}&to=draft", status: 200 })],
  readDraftFile: [() => ({ path: "/api/workflows/{workflowId}/draft/files/data%2Ff1.txt", status: 200 })],
  executeDraft: [() => ({ body: "{}", status: 200 })],
  rebaseDraft: [() => ({ body: JSON.stringify({ version }), status: 200 })],
  commitDraft: [() => ({ body: JSON.stringify({ version, expectedHead: places["commitId"] }), status: 201 })],
  showCommit: [() => ({ status: 200 })],
  restoreCommit: [() => ({ body: JSON.stringify({ expectedHead: null }) })],
  previewPublish: [
    () => ({
      path: "/api/publish/preview?workflow={workflowId}",
      body: toTar(aLargeFolder("after", CONFIGS.patterned)),
      status: 200,
    }),
  ],
  publish: [
    () => ({
      path: "/api/publish?account=costly",
      body: toTar(aLargeFolder("after", CONFIGS.ambiguous).slice(0, 2)),
      status: 400,
    }),
    () => ({
      path: "/api/publish?account=costly",
      body: toTar(aLargeFolder("after", CONFIGS.nonsense).slice(0, 2)),
      status: 400,
    }),
    () => ({
      path: "/api/publish?account=costly&name=again",
      body: toTar(aLargeFolder("again", CONFIGS.patterned)),
      status: 201,
    }),
  ],
};

/** A body of as many parts as a small one has. */
const JUNK = JSON.stringify({ junk: Array.from({ length: 3_000 }, () => []) });

/**
 * Routes whose cost no caller chooses: small bodies, pages of bounded length. A new route belongs here, or with its most expensive
 * requests into `COSTLY`.
 */
const BOUNDED: readonly RouteName[] = [
  "sendUploadPart",
  "removeUpload",
  "showWorkflowDocs",
  "showExecution",
  "cancelExecution",
  "linkFile",
  "showSchedule",
  "listTicks",
  "cancelExecutions",
  "showExecutionRecord",
  "readInputFile",
  "signIn",
  "showSession",
  "signOut",
  "showAccount",
  "showAccountOverview",
  "listLedger",
  "showSpend",
  "listMembers",
  "changeRole",
  "removeMember",
  "invite",
  "linkSignIn",
  "revokeInvitation",
  "lookAtInvitation",
  "join",
  "listSessions",
  "signOutElsewhere",
  "endSession",
  "changePassword",
  "listTokens",
  "createToken",
  "revokeToken",
  "createDeviceCode",
  "lookAtDeviceCode",
  "answerDeviceCode",
  "fetchDeviceToken",
  "listWorkflows",
  "listTemplates",
  "showWorkflow",
  "renameWorkflow",
  "deleteWorkflow",
  "showKey",
  "rotateKey",
  "endKey",
  "listKeys",
  "listRefusedCalls",
  "showOverview",
  "listUnrunnable",
  "listSchedules",
  "backfill",
  "listAccounts",
  "createAccount",
  "grantCredits",
  "adjustCredits",
  "showRates",
  "agreeRates",
  "agreeStorage",
  "discardDraft",
  "settleDraft",
  "listCommits",
  "readBuildLog",
  "showBuild",
  "describeInstallation",
  "listHosts",
  "listSecrets",
  "showSecretHistory",
  "showVariableHistory",
  "listVariables",
  "setSecret",
  "setVariable",
  "removeSecret",
  "removeVariable",
  "listPlaces",
  "addPlace",
  "changePlace",
  "removePlace",
  "rotatePlaceSecret",
  "testPlace",
  "listNotices",
  "sendNoticeAgain",
  "listDestinations",
  "addDestination",
  "removeDestination",
  "switchSchedule",
  "declareSchedule",
  "showAlive",
  "showReadiness",
  "readMetrics",
  "describeService",
  "showDocs",
  "readDocsAsset",
];

test("routes, each of the table, say what their most expensive request is", () => {
  expect([...Object.keys(COSTLY), ...BOUNDED].sort()).toEqual([...ROUTE_NAMES].sort());
});

test("routes, each with its most expensive requests, leave the event loop free", async () => {
  const slow: string[] = [];
  const see = async (name: string, route: { method: string; path: string }, calls: Calls): Promise<void> => {
    for (const [at, call] of calls.entries()) {
      const turnMs = await measure(name, route, call);
      if (turnMs >= TURN_MS_MAX) slow.push(`${name} ${at}: ${turnMs.toFixed(0)} ms`);
    }
  };
  for (const [name, calls] of Object.entries(COSTLY)) {
    const { method, path } = ROUTES[name as RouteName];
    await see(name, { method: method.toUpperCase(), path }, calls ?? []);
  }
  for (const name of BOUNDED) {
    const { method, path } = ROUTES[name];
    await see(name, { method: method.toUpperCase(), path }, [() => (method === "get" ? {} : { body: JUNK })]);
  }
  expect(slow).toEqual([]);
});
