import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { queryRows } from "../../db/connect.ts";
import { BUILD_ROUTES } from "../../src/http/routes/builds.ts";
import { COMMIT_ROUTES } from "../../src/http/routes/commits.ts";
import { DRAFT_ROUTES } from "../../src/http/routes/drafts.ts";
import { SCHEDULE_SWITCH_ROUTES } from "../../src/http/routes/schedule-switch.ts";
import { ROUTE_NAMES, ROUTES, type RouteName } from "../../src/http/routes/table.ts";
import { WORKFLOW_ROUTES } from "../../src/http/routes/workflows.ts";
import { anEditor, commit } from "../http/editor/callers.ts";
import { CASES, FUZZ_MS, SEED } from "./fuzz-settings.ts";
import { FILE_NAME } from "./requests.ts";
import { aimDocument } from "./schemathesis/aim.ts";
import { type Attack, type Findings, installSchemathesis, type Schemathesis } from "./schemathesis/schemathesis.ts";
import { aTarget, type HostileService, takeStock } from "./target.ts";

/** Beside the calls that cover each limit of each parameter from both sides, which are made in any case. */
const CASES_PER_OPERATION = Math.max(2, Math.round(CASES / 300));
const NOT_THERE = "ex_00000000000000000000000000";
/** As pino counts: what a person would have to look at. */
const ERROR_LEVEL = 50;

let service: HostileService;
let schemathesis: Schemathesis;

beforeAll(async () => {
  [service, schemathesis] = await Promise.all([
    aTarget({ metrics: async () => "treadle_up 1\n" }),
    installSchemathesis(),
  ]);
}, 400_000);

afterAll(async () => {
  await service?.close();
  await schemathesis?.remove();
});

interface Wish extends Partial<Pick<Attack, "operations" | "phases" | "casesPerOperation">> {
  readonly of: "service" | "workflow";
  /** Instead of the things that the corpus aims at, by the name of the parameter. */
  readonly aims?: Readonly<Record<string, readonly string[]>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly falsify?: (document: Record<string, unknown>) => void;
}

/** Fetches a document as callers do, and sends the fuzzer after what it promises. */
async function attack({ of, aims = {}, headers = {}, falsify, ...selection }: Wish): Promise<Findings> {
  const { workflowId, apiKey, executionId } = service.target;
  const path = of === "service" ? "/api/openapi.json" : `/api/workflows/${workflowId}/openapi.json`;
  const document = (await service.call(path, { headers: { "x-api-key": apiKey } })).json();
  falsify?.(document);
  return schemathesis.attack({
    casesPerOperation: CASES_PER_OPERATION,
    ...selection,
    document: aimDocument(document, {
      workflowId: [workflowId],
      executionId: [executionId, NOT_THERE],
      fileName: [FILE_NAME, "nothing.txt"],
      ...aims,
    }),
    url: service.url,
    cert: service.cert,
    headers: { "x-api-key": apiKey, ...headers },
    seed: SEED,
    timeoutMs: FUZZ_MS,
  });
}

/** Not those for people alone: a workflow's key would be refused by them each time. */
const FOR_PROGRAMS = ROUTE_NAMES.filter((name) => {
  const { credentials, path } = ROUTES[name];
  return credentials.length === 0 || credentials.includes("apiKey") || path === "/api/session";
});

const WISHES: Readonly<Record<string, Wish>> = {
  "the service's document allows and forbids": { of: "service", operations: FOR_PROGRAMS },
  "a workflow's document allows and forbids": {
    of: "workflow",
    operations: ["executeWorkflow", "validateInputs", "describeWorkflow"],
  },
  "a workflow's document allows, asking for events": {
    of: "workflow",
    operations: ["executeWorkflow", "readLog"],
    phases: ["examples", "fuzzing"],
    headers: { accept: "text/event-stream" },
  },
};

test.each(Object.keys(WISHES))(
  "service, called by a fuzzer as %s, answers as documented and without fault",
  async (name) => {
    service.logged.length = 0;
    const startedBefore = service.started.length;
    const { code, output } = await attack(WISHES[name] as Wish);
    expect(code === 0 ? "" : output).toBe("");
    expect(output).toMatch(/\d+ generated, \d+ passed/);
    expect(service.started.length).toBeGreaterThan(startedBefore);
    expect(service.logged.filter(({ level }) => Number(level) >= ERROR_LEVEL)).toEqual([]);
    expect(await takeStock(service)).toMatchObject({ openReservations: 0, strayFiles: [], lostFiles: [] });
  },
  FUZZ_MS,
);

/** Those of workflows, drafts and commits, but for deleting the workflow that all others are about. */
const EDITING: readonly RouteName[] = (
  Object.keys({
    ...WORKFLOW_ROUTES,
    ...DRAFT_ROUTES,
    ...COMMIT_ROUTES,
    ...BUILD_ROUTES,
    ...SCHEDULE_SWITCH_ROUTES,
  }) as RouteName[]
).filter((name) => name !== "deleteWorkflow");

test(
  "service, called by a fuzzer as somebody who edits a workflow, answers as documented and without fault",
  async () => {
    service.logged.length = 0;
    const editor = await anEditor(service, { role: "member" });
    const { path, workflowId } = await editor.create("fuzzed", "nightly");
    const { commitId, buildId } = await commit(editor, path, [{ path: "notes.md", text: "hi" }], null);
    const { code, output } = await attack({
      of: "service",
      operations: EDITING,
      phases: ["examples", "fuzzing"],
      headers: { cookie: editor.cookie, "sec-fetch-site": "same-origin" },
      aims: { workflowId: [workflowId], commitId: [commitId], buildId: [buildId], path: ["main.py", "no thing"] },
    });
    expect(code === 0 ? "" : output).toBe("");
    expect(output).toMatch(/\d+ generated, \d+ passed/);
    expect(service.logged.filter(({ level }) => Number(level) >= ERROR_LEVEL)).toEqual([]);
    const { commits } = (await editor.get(`${path}/commits`)).json() as { commits: object[] };
    expect(commits.length).toBeGreaterThan(0);
  },
  FUZZ_MS,
);

test(
  "service, called by a fuzzer that is signed in, answers as documented about accounts and their members",
  async () => {
    service.logged.length = 0;
    const operations = ROUTE_NAMES.filter((name) => ["Account", "Access"].includes(ROUTES[name].tag));
    expect(operations.length).toBeGreaterThan(10);
    const headers = { cookie: service.target.cookie, "sec-fetch-site": "same-origin" };
    const { code, output } = await attack({ of: "service", operations, headers });
    expect(code === 0 ? "" : output).toBe("");
    expect(output).toMatch(/\d+ generated, \d+ passed/);
    expect(service.logged.filter(({ level }) => Number(level) >= ERROR_LEVEL)).toEqual([]);
    // It came through: what it was allowed to make is there.
    const [made] = await queryRows<{ tokens: number; invitations: number }>(
      service.db,
      `select (select count(*)::int from access_tokens) as tokens, (select count(*)::int from invitations) as invitations`,
    );
    expect(made?.tokens).toBeGreaterThan(2);
    expect(made?.invitations).toBeGreaterThan(0);
  },
  FUZZ_MS,
);

interface Falsifiable {
  readonly paths: Record<string, Record<string, { responses: Record<string, { headers: Record<string, object> }> }>>;
  readonly components: { readonly schemas: Record<string, { required: string[] }> };
}

test(
  "fuzzer, given a document with a status, a field and a header that are not true, finds each",
  async () => {
    const { code, output } = await attack({
      of: "service",
      operations: ["showExecution", "showReadiness", "showAlive"],
      casesPerOperation: 2,
      falsify(document) {
        const { paths, components } = document as unknown as Falsifiable;
        delete paths["/api/run-logs/{executionId}"]?.["get"]?.responses["404"];
        components.schemas["Readiness"]?.required.push("colour");
        const alive = paths["/healthz"]?.["get"]?.responses["200"];
        Object.assign(alive?.headers ?? {}, { "X-Colour": { required: true, schema: { type: "string" } } });
      },
    });
    expect(code).toBe(1);
    for (const finding of ["Undocumented status code", "Response violates schema", "Missing required response headers"])
      expect(output).toContain(finding);
  },
  FUZZ_MS,
);
