import { request as httpsRequest } from "node:https";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, expect, test } from "@jest/globals";
import { insertBuild } from "../../../db/commits/builds.ts";
import { queryRows } from "../../../db/connect.ts";
import type { AccountId } from "../../../domain/ids.ts";
import { createBuildId } from "../../../src/ids.ts";
import { createOpenAccess } from "../../../src/keys/open-access.ts";
import { createLog } from "../../../src/log.ts";
import { aMember, anExecution, aSessionOf, aWorkflow } from "../../support/builders.ts";
import { aService, type TestService } from "../service.ts";
import { aHouse, ask } from "./people.ts";

/** For what hangs: a stream ends by itself only after ten minutes. */
const PATIENCE_MS = 120_000;

type Headers = Readonly<Record<string, string>>;

interface Stream {
  readonly name: string;
  readonly status: number;
  text(): string;
  hasEnded(): boolean;
  leave(): void;
}

let service: TestService;
const streams: Stream[] = [];

beforeAll(async () => {
  // Executions go on for as long as anybody looks.
  service = await aService({ listens: true, run: async () => undefined });
});

afterEach(() => {
  for (const stream of streams.splice(0)) stream.leave();
});

afterAll(() => service?.close());

/** Follows something as events; resolves when the answer has begun. */
function follow(path: string, headers: Headers, body?: string): Promise<Stream> {
  return new Promise((resolve, reject) => {
    const sent = httpsRequest(
      new URL(path, service.url),
      {
        ca: service.cert,
        agent: false,
        method: body === undefined ? "GET" : "POST",
        headers: {
          accept: "text/event-stream",
          "sec-fetch-site": "same-origin",
          ...(body === undefined ? {} : { "content-type": "application/json" }),
          ...headers,
        },
      },
      (response) => {
        let text = "";
        let ended = false;
        const stream: Stream = {
          name: path,
          status: response.statusCode ?? 0,
          text: () => text,
          hasEnded: () => ended,
          leave: () => void sent.destroy(),
        };
        streams.push(stream);
        response.setEncoding("utf8").on("data", (piece: string) => {
          text += piece;
        });
        response.on("end", () => {
          ended = true;
        });
        response.on("error", () => undefined);
        resolve(stream);
      },
    );
    sent.on("error", reject).end(body);
  });
}

async function until(isTrue: () => boolean): Promise<void> {
  for (const deadline = Date.now() + PATIENCE_MS; !isTrue() && Date.now() < deadline; ) await sleep(20);
}

/** Everything of an account that goes on and can be followed. */
async function whatGoesOn(accountId: AccountId) {
  const workflow = await aWorkflow(service.db, { accountId });
  const executionId = await anExecution(service.db, { workflow });
  const buildId = createBuildId();
  await insertBuild(service.db, { id: buildId, workflowId: workflow.workflowId });
  // One whose maker is silent is told as failed.
  await queryRows(service.db, "update builds set seen_at = now() + interval '1 day' where id = :buildId", { buildId });
  const paths = ["/api/events", `/api/run-logs/${executionId}/logs`, `/api/builds/${buildId}`];
  return { workflow, followAll: (headers: Headers) => Promise.all(paths.map((path) => follow(path, headers))) };
}

const stateOf = ({ name, status, text, hasEnded }: Stream) => ({
  name,
  status,
  hasEnded: hasEnded(),
  hasResult: text().includes("event: result"),
});

function expectStates(found: readonly Stream[], hasEnded: boolean): void {
  expect(found.map(stateOf)).toEqual(found.map(({ name }) => ({ name, status: 200, hasEnded, hasResult: false })));
}

test("what a viewer follows, when an owner removes them, ends at once, and what others follow goes on", async () => {
  const { accountId, owner, viewer } = await aHouse(service);
  const { followAll } = await whatGoesOn(accountId);
  const [theirs, others] = [await followAll({ cookie: viewer.cookie }), await followAll({ cookie: owner.cookie })];
  const removed = await ask(service, `/api/members/${viewer.userId}`, { method: "DELETE" }, owner);
  expect(removed.status).toBe(200);
  await until(() => theirs.every((stream) => stream.hasEnded()));
  expectStates(theirs, true);
  expect((await ask(service, "/api/events", {}, viewer)).status).toBe(401);
  // Others hear what comes after it.
  const { workflowId } = await aWorkflow(service.db, { accountId, commit: false });
  await until(() => others[0]?.text().includes(workflowId) ?? false);
  expectStates(others, false);
});

test("what somebody follows, when they sign out everywhere else, ends in those browsers alone", async () => {
  const { accountId, owner } = await aHouse(service);
  const { followAll } = await whatGoesOn(accountId);
  const elsewhere = await followAll({ cookie: await aSessionOf(service.db, owner.userId) });
  const here = await followAll({ cookie: owner.cookie });
  const byToken = await followAll({ authorization: `Bearer ${owner.token}` });
  await ask(service, "/api/sessions", { method: "DELETE" }, owner);
  await until(() => elsewhere.every((stream) => stream.hasEnded()));
  expectStates(elsewhere, true);
  expectStates([...here, ...byToken], false);
});

test("what a program follows with an access token, when that is revoked, ends", async () => {
  const { accountId, member } = await aHouse(service);
  const { followAll } = await whatGoesOn(accountId);
  const byToken = await followAll({ authorization: `Bearer ${member.token}` });
  const bySession = await followAll({ cookie: member.cookie });
  const { tokens } = (await ask(service, "/api/tokens", {}, member)).json() as { tokens: { tokenId: string }[] };
  await ask(service, `/api/tokens/${tokens[0]?.tokenId}`, { method: "DELETE" }, member);
  await until(() => byToken.every((stream) => stream.hasEnded()));
  expectStates(byToken, true);
  expectStates(bySession, false);
});

test("an execution, begun and followed by one call, when its caller is removed, is followed no longer", async () => {
  const { accountId, member, owner } = await aHouse(service);
  const { workflowId } = await aWorkflow(service.db, { accountId });
  const stream = await follow(`/api/workflows/${workflowId}/execute`, { cookie: member.cookie }, "{}");
  await ask(service, `/api/members/${member.userId}`, { method: "DELETE" }, owner);
  await until(stream.hasEnded);
  expectStates([stream], true);
});

test("open access, that ended before it was followed, or while nobody heard of it, ends all the same", async () => {
  const { accountId } = await aHouse(service);
  const sessions = `select id from sessions where user_id = :userId`;
  const [{ userId: early }, { userId: late }, { userId: stays }] = [
    await aMember(service.db, accountId, "viewer"),
    await aMember(service.db, accountId, "viewer"),
    await aMember(service.db, accountId, "viewer"),
  ];
  const idOf = async (userId: string) =>
    (await queryRows<{ id: string }>(service.db, sessions, { userId }))[0]?.id ?? "";
  const ids = { early: await idOf(early), late: await idOf(late), stays: await idOf(stays) };
  const end = (userId: string) => queryRows(service.db, "delete from sessions where user_id = :userId", { userId });
  // Nothing is handed to it that the database announces.
  const openAccess = createOpenAccess({ db: service.db, log: createLog({ level: "silent", terminal: false }) });
  try {
    const ended: string[] = [];
    await end(early);
    for (const [name, id] of Object.entries(ids)) await openAccess.follow(id, () => void ended.push(name));
    expect(ended).toEqual(["early"]);
    const leave = await openAccess.follow(ids.late, () => void ended.push("left"));
    leave();
    await end(late);
    openAccess.subscriptions[0]?.onReconnect?.();
    await until(() => ended.length > 1);
    expect(ended).toEqual(["early", "late"]);
  } finally {
    await openAccess.close();
  }
});
