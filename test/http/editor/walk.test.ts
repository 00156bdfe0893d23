import { request as httpsRequest } from "node:https";
import { Readable } from "node:stream";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { createInvitation } from "../../../db/accounts/invitations.ts";
import { insertBuild } from "../../../db/commits/builds.ts";
import { queryRows } from "../../../db/connect.ts";
import { beginFileUpload } from "../../../db/executions/file-uploads.ts";
import { ROUTE_NAMES, ROUTES } from "../../../src/http/routes/table.ts";
import { createBuildId, createUploadId } from "../../../src/ids.ts";
import { hashToken } from "../../../src/keys/tokens.ts";
import { toDraftFile } from "../../../src/publish/draft-changes.ts";
import { createDraft } from "../../../src/publish/drafts.ts";
import { aCliService, type CliService } from "../../publish/cli-service.ts";
import { aMember, anAccount, type TestMember } from "../../support/builders.ts";
import { aScheduledWorkflow } from "../../support/schedules.ts";
import { anEndedExecution } from "../service.ts";
import { ACCESS, type Access } from "./rights.ts";

interface Step {
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly access: Access;
  /** Whether the path names something of the account. */
  readonly aimed: boolean;
  readonly credentials: readonly string[];
}

type Headers = Readonly<Record<string, string>>;

const ACCOUNT_NAME = "the walked account";
/** Things of the account that is walked over, by the name of the parameter. */
const places: Record<string, string> = {
  keyId: "key_0000000000000000",
  fileName: "report.txt",
  asset: "docs.css",
  name: "TOKEN",
  input: "orders",
  position: "0",
  number: "1",
};
let service: CliService;
let owner: TestMember;
let member: TestMember;
let viewer: TestMember;
let stranger: TestMember;
/** What nobody else may see a trace of. */
let secrets: string[];

beforeAll(async () => {
  service = await aCliService({ metrics: async () => "" });
  const { db } = service;
  await anAccount(db, { name: "of the installation" }); // The first one, whose owners see more.
  const accountId = await anAccount(db, { name: ACCOUNT_NAME });
  owner = await aMember(db, accountId);
  member = await aMember(db, accountId, "member");
  viewer = await aMember(db, accountId, "viewer");
  stranger = await aMember(db, await anAccount(db));
  const workflow = await aScheduledWorkflow(db, { accountId, since: new Date("2026-05-04T08:30:00Z") });
  const executionId = await anEndedExecution(service, workflow, {
    outputs: { "report.txt": { content: "of nobody else" } },
    log: [`${JSON.stringify({ id: 1, time: "2026-01-01T00:00:00Z", stream: "stdout", text: "of nobody else" })}\n`],
  });
  await giveFile(executionId);
  const invitation = await createInvitation(db, {
    accountId,
    email: "invited@example.test",
    role: "owner",
    by: owner.userId,
    tokenHash: hashToken("tri_walk"),
  });
  if (invitation.kind !== "invited") throw new Error(`There is no invitation: ${invitation.kind}.`);
  const [own] = await queryRows<{ sessionId: string; tokenId: string }>(
    db,
    `select s.id as "sessionId", t.id as "tokenId" from sessions s join access_tokens t using (user_id) where user_id = :userId`,
    { userId: owner.userId },
  );
  const { invitationId } = invitation;
  const { workflowId, commitId } = workflow;
  const buildId = createBuildId();
  await insertBuild(db, { id: buildId, workflowId });
  const uploadId = createUploadId();
  const file = { fileName: "orders.csv", contentType: "text/csv", bytes: 5, sha256: "0".repeat(64), partBytes: 5 };
  const bounds = { seconds: 3_600, openMax: 1, keptMax: 1 };
  const begun = await beginFileUpload(db, { id: uploadId, workflowId, accountId, ...file, ...bounds });
  if (!begun) throw new Error("There is no upload.");
  const draft = toDraftFile({ path: "draft.py", content: Buffer.from("of nobody else"), executable: false });
  await createDraft(db, { userId: viewer.userId, workflowId }, [draft]);
  const editor = {
    commitId,
    buildId,
    uploadId,
    path: draft.path,
    noticeId: await sendTestNotice("ops@told.example.test"),
  };
  Object.assign(places, { workflowId, executionId, userId: owner.userId, invitationId, ...own, ...editor });
  const addresses = [owner.email, "invited@example.test", "ops@told.example.test"];
  secrets = [accountId, workflowId, executionId, buildId, ACCOUNT_NAME, ...addresses];
});

afterAll(() => service?.close());

/** As if the execution had been given a file. */
async function giveFile(executionId: string): Promise<void> {
  const storageKey = `executions/${executionId}/inputs/0`;
  const stored = await service.storage.put(storageKey, Readable.from([Buffer.from("of nobody else")]));
  await queryRows(
    service.db,
    `insert into execution_files (execution_id, direction, name, position, file_name, storage_key, bytes, sha256, content_type)
     values (:executionId, 'input', :input, 0, 'orders.csv', :storageKey, :bytes, :sha256, 'text/csv')`,
    { executionId, input: places["input"], storageKey, ...stored },
  );
}

/** Has the owner add a place and send a test there. Returns the notice's id. */
async function sendTestNotice(target: string): Promise<string> {
  const sent = {
    method: "POST",
    headers: { authorization: `Bearer ${owner.token}`, "content-type": "application/json" },
  };
  const body = JSON.stringify({ name: places["name"], kind: "email", target });
  await service.call("/api/places", { ...sent, body });
  const notice = await service.call(`/api/places/${places["name"]}/test`, sent);
  return String(notice.json()["noticeId"]);
}

function toStep(route: Omit<Step, "aimed">): Step {
  // The name of a secret or a variable is one of the caller's own account.
  const aimed = [...route.path.matchAll(/\{(\w+)\}/g)].some(([, name]) => name !== "asset" && name !== "name");
  return { ...route, aimed };
}

const STEPS: readonly Step[] = ROUTE_NAMES.map((name) => {
  const { method, path, credentials } = ROUTES[name];
  return toStep({ name, path, method: method.toUpperCase(), access: ACCESS[name], credentials });
});
/** The status, and as much of the answer as came with it: some go on until something ends. */
function go(step: Step, headers: Headers): Promise<{ status: number; text: string }> {
  const path = step.path.replaceAll(/\{(\w+)\}/g, (_all, name: string) => {
    const place = places[name];
    if (place === undefined) throw new Error(`Nothing of the account is called ${name}. Make one before the walk.`);
    return encodeURIComponent(place);
  });
  const isJson = step.method !== "GET" && step.method !== "DELETE";
  const type = isJson
    ? { "content-type": step.path.startsWith("/api/publish") ? "application/x-tar" : "application/json" }
    : {};
  return new Promise((resolve, reject) => {
    const sent = httpsRequest(
      new URL(path, service.url),
      {
        method: step.method,
        ca: service.cert,
        agent: false,
        headers: { "sec-fetch-site": "same-origin", ...type, ...headers },
      },
      (response) => {
        const chunks: Buffer[] = [];
        const finish = (): void =>
          resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString() });
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("end", finish).on("error", reject);
        if (response.headers["content-type"]?.startsWith("text/event-stream") === true) {
          finish();
          sent.destroy();
        }
      },
    );
    sent.on("error", reject).end(isJson ? "{}" : undefined);
  });
}

/** The ways in which somebody can come to a route. */
function waysOf(step: Step, { cookie, token }: TestMember): Headers[] {
  const ways: Record<string, Headers> = { session: { cookie }, accessToken: { authorization: `Bearer ${token}` } };
  return step.credentials.flatMap((credential) => {
    const way = ways[credential];
    return way === undefined ? [] : [way];
  });
}

async function walk(
  steps: readonly Step[],
  who: TestMember | undefined,
  judge: (step: Step, status: number) => unknown,
) {
  const wrong: string[] = [];
  for (const step of steps) {
    for (const headers of who === undefined ? [{}] : waysOf(step, who)) {
      const { status, text } = await go(step, headers);
      const problem = judge(step, status);
      const seen =
        who === viewer || step.access === "everybody"
          ? []
          : secrets.filter((secret) => text.includes(secret) && !decodeURIComponent(step.path).includes(secret));
      const way = Object.keys(headers)[0] ?? "nothing";
      if (problem !== true) wrong.push(`${step.name} with ${way}: ${status}, ${String(problem)}`);
      if (seen.length > 0) wrong.push(`${step.name} with ${way} shows ${seen.join(", ")}`);
    }
  }
  return wrong;
}

/** How many rows each table has: what was refused has left nothing. */
/** Refused calls are noted by themselves, some seconds later. */
async function countRows(): Promise<Record<string, number>> {
  const [row] = await queryRows<{ counts: Record<string, number> }>(
    service.db,
    `select json_object_agg(relname, (xpath('/row/n/text()', query_to_xml('select count(*) as n from ' || relname, false, true, '')))[1]::text::int) as counts
       from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r' and relname <> 'refused_calls'`,
  );
  return row?.counts ?? {};
}

const isWrite = ({ access }: Step): boolean => access === "write" || access === "own" || access === "operator";
const judgeIs = (allowed: readonly number[]) => (_step: Step, status: number) =>
  allowed.includes(status) || `expected ${allowed.join(" or ")}`;

test("routes, each of the table, say who may call them", () => {
  expect(Object.keys(ACCESS).sort()).toEqual([...ROUTE_NAMES].sort());
  const named = [...new Set(STEPS.flatMap(({ path }) => [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)))];
  expect(named.filter((name) => places[name as string] === undefined)).toEqual([]);
  for (const { access, credentials } of STEPS) expect(credentials.length > 0).toBe(access !== "everybody");
});

test("routes, called by nobody, are for everybody or answer 401", async () => {
  const before = await countRows();
  const closed = STEPS.filter(({ access }) => access !== "everybody");
  expect(closed.length).toBeGreaterThan(30);
  expect(await walk(closed, undefined, judgeIs([401]))).toEqual([]);
  const open = STEPS.filter(({ access }) => access === "everybody");
  // An empty body may be no good; that nobody is known must not matter.
  expect(await walk(open, undefined, judgeIs([200, 400]))).toEqual([]);
  expect(await countRows()).toEqual(before);
});

test("routes, called with a session or token that nobody has, answer 401", async () => {
  const nobody = { ...stranger, cookie: `__Host-session=${"a".repeat(43)}`, token: "trp_nothing" };
  const closed = STEPS.filter(({ access }) => access !== "everybody");
  expect(await walk(closed, nobody, judgeIs([401]))).toEqual([]);
});

test("routes to something of an account, called by a stranger, answer 404 as if it were not there", async () => {
  const before = await countRows();
  const aimed = STEPS.filter(({ access, aimed }) => aimed && access !== "everybody");
  expect(aimed.length).toBeGreaterThan(15);
  expect(await walk(aimed, stranger, judgeIs([404]))).toEqual([]);
  expect(await countRows()).toEqual(before);
});

test("routes to whatever is one's own, called by a stranger, show nothing of the account", async () => {
  const reads = STEPS.filter(
    ({ access, aimed, method }) => !aimed && access !== "everybody" && access !== "operator" && method === "GET",
  );
  expect(reads.length).toBeGreaterThan(8);
  expect(await walk(reads, stranger, judgeIs([200]))).toEqual([]);
});

test("routes with an account by name, called by a stranger, answer 404", async () => {
  const named = STEPS.filter(
    ({ name, access }) =>
      access !== "operator" &&
      ROUTES[name as keyof typeof ROUTES].parameters?.some(({ name: parameter }) => parameter === "account"),
  );
  expect(named.length).toBeGreaterThan(5);
  const elsewhere = named.map((step) => ({
    ...step,
    path: `${step.path}?account=${encodeURIComponent(ACCOUNT_NAME)}`,
  }));
  expect(await walk(elsewhere, stranger, judgeIs([404]))).toEqual([]);
});

test("routes that change something, called by a viewer, answer 403 and change nothing", async () => {
  const before = await countRows();
  const writes = STEPS.filter(isWrite);
  expect(writes.length).toBeGreaterThan(15);
  expect(await walk(writes, viewer, judgeIs([403]))).toEqual([]);
  expect(await countRows()).toEqual(before);
});

test("routes that decide about the account, called by a member who is no owner, answer 403 and change nothing", async () => {
  const before = await countRows();
  const owning = STEPS.filter(({ access }) => access === "own" || access === "operator");
  expect(await walk(owning, member, judgeIs([403]))).toEqual([]);
  expect(await countRows()).toEqual(before);
});

test("routes that show something, called by a viewer, answer it", async () => {
  const reads = STEPS.filter(({ access, method }) => access === "read" || (access === "self" && method === "GET"));
  expect(await walk(reads, viewer, judgeIs([200]))).toEqual([]);
});

test("routes about oneself, called by a viewer with what is somebody else's, answer 404", async () => {
  const own = STEPS.filter(({ access, aimed }) => access === "self" && aimed);
  expect(own.length).toBeGreaterThan(1);
  expect(await walk(own, viewer, judgeIs([404]))).toEqual([]);
});

test("routes of the operator, called by an owner, answer 403", async () => {
  const operators = STEPS.filter(({ access }) => access === "operator");
  expect(operators.length).toBeGreaterThan(3);
  expect(await walk(operators, owner, judgeIs([403]))).toEqual([]);
});
