import { type ClientRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, expect, test } from "@jest/globals";
import { deleteWorkflow } from "../../../db/commits/workflows.ts";
import { queryRows } from "../../../db/connect.ts";
import { createEditorEvents } from "../../../src/http/editor-events/editor-events.ts";
import { createLog } from "../../../src/log.ts";
import { aCommit, anExecution, aWorkflow, type TestMember } from "../../support/builders.ts";
import { aFileService, aService, succeed, type TestService } from "../service.ts";
import { aHouse, ask } from "./people.ts";

const PATIENCE_MS = 30_000;

interface Told {
  readonly id: string;
  readonly event: string;
  readonly data: Readonly<Record<string, string>>;
}

interface Stream {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly told: Told[];
  lastId(): string;
  readonly ended: Promise<void>;
  leave(): void;
}

const streams: Stream[] = [];

const service = await aFileService({ listens: true });

afterEach(() => {
  for (const stream of streams.splice(0)) stream.leave();
});

/** Follows what happens; resolves when the stream has begun. */
function follow(who: TestMember, lastId?: string, from: Pick<TestService, "url" | "cert"> = service): Promise<Stream> {
  return new Promise((resolve, reject) => {
    const sent: ClientRequest = httpsRequest(
      new URL("/api/events", from.url),
      {
        ca: from.cert,
        agent: false,
        headers: { cookie: who.cookie, ...(lastId === undefined ? {} : { "last-event-id": lastId }) },
      },
      (response) => {
        const told: Told[] = [];
        let text = "";
        let last = "";
        const stream: Stream = {
          status: response.statusCode ?? 0,
          headers: response.headers,
          told,
          lastId: () => last,
          ended: new Promise((done) => response.once("close", () => done())),
          leave: () => void sent.destroy(),
        };
        streams.push(stream);
        response.on("error", () => undefined);
        if (response.statusCode !== 200) return resolve(stream);
        response.on("data", (chunk: Buffer) => {
          const blocks = (text += chunk.toString()).split("\n\n");
          text = blocks.pop() ?? "";
          for (const block of blocks) {
            const field = (name: string) => new RegExp(`^${name}: (.*)$`, "m").exec(block)?.[1];
            last = field("id") ?? last;
            const [event, data] = [field("event"), field("data")];
            if (event !== undefined && data !== undefined)
              told.push({ id: last, event, data: JSON.parse(data) as Told["data"] });
          }
          if (last !== "") resolve(stream);
        });
      },
    );
    sent.on("error", reject).end();
  });
}

async function until(isTrue: () => boolean | Promise<boolean>): Promise<void> {
  for (const deadline = Date.now() + PATIENCE_MS; !(await isTrue()) && Date.now() < deadline; ) await sleep(20);
}

/** What a stream told, in short. */
const inShort = ({ told }: Stream) =>
  told.map(({ event, data }) => [event, data["executionId"] ?? data["workflowId"], data["status"]].filter(Boolean));

test("events, of executions, tell of acceptance, beginning and end, in the caller's own account alone", async () => {
  const [house, stranger] = [await aHouse(service), await aHouse(service)];
  const workflow = await aWorkflow(service.db, { accountId: house.accountId });
  await anExecution(service.db, { workflow });
  const [stream, other] = [await follow(house.viewer), await follow(stranger.owner)];
  expect(stream.headers["content-type"]).toBe("text/event-stream; charset=utf-8");
  const foreign = await anExecution(service.db, {
    workflow: await aWorkflow(service.db, { accountId: stranger.accountId }),
  });
  const id = await anExecution(service.db, { workflow });
  await until(() => stream.told.length >= 1);
  await queryRows(service.db, "update executions set state = 'running', started_at = now() where id = :id", { id });
  await until(() => stream.told.length >= 2);
  await succeed(service.db, { executionId: id });
  await until(() => stream.told.length >= 3 && other.told.length >= 2);
  expect(inShort(stream)).toEqual([
    ["execution", id, "queued"],
    ["execution", id, "running"],
    ["execution", id, "success"],
  ]);
  expect(stream.told[0]?.data).toEqual({ executionId: id, workflowId: workflow.workflowId, status: "queued" });
  expect(inShort(other).filter(([event]) => event === "execution")).toEqual([["execution", foreign, "queued"]]);
});

test("events, of an execution that was accepted long before, tell of its end", async () => {
  const house = await aHouse(service);
  const workflow = await aWorkflow(service.db, { accountId: house.accountId });
  const id = await anExecution(service.db, { workflow });
  const { accountId, workflowId, commitId } = workflow;
  await queryRows(
    service.db,
    `insert into executions (id, account_id, workflow_id, commit_id, trigger, state, timeout_seconds, cpu, charge_max, accepted_by, finished_at)
     select 'ex_' || substr(md5(cast(n as text)), 1, 26), :accountId, :workflowId, :commitId, 'api', 'success', 300, 1, 0, 'test', now()
       from generate_series(1, 250) as n`,
    { accountId, workflowId, commitId },
  );
  const stream = await follow(house.owner);
  await succeed(service.db, { executionId: id });
  await until(() => stream.told.length >= 1);
  expect(inShort(stream)).toEqual([["execution", id, "success"]]);
});

test("events, of workflows, tell when one is made, committed, renamed and deleted", async () => {
  const [house, stranger] = [await aHouse(service), await aHouse(service)];
  const [stream, other] = [await follow(house.viewer), await follow(stranger.owner)];
  const heard = async (count: number): Promise<void> => {
    await until(() => stream.told.length >= count);
    expect(stream.told).toHaveLength(count);
  };
  // Made without a commit; then with one; then under another name.
  const workflow = await aWorkflow(service.db, { accountId: house.accountId, commit: false });
  const { workflowId, manifest } = workflow;
  await heard(1);
  await aCommit(service.db, { workflowId, parentId: null, manifest });
  await heard(2);
  await queryRows(service.db, "update workflows set name = 'another' where id = :workflowId", { workflowId });
  await heard(3);
  // Nothing that anybody sees has changed.
  await queryRows(service.db, "update workflows set name = 'another' where id = :workflowId", { workflowId });
  await deleteWorkflow(service.db, workflowId, () => new Date());
  await heard(4);
  expect(inShort(stream)).toEqual(Array.from({ length: 4 }, () => ["workflow", workflowId]));
  expect(other.told).toEqual([]);
});

test("events, with the id of the last one, go on behind it; with one that is not known, begin with resync", async () => {
  const house = await aHouse(service);
  const first = await follow(house.owner);
  const beginning = first.lastId();
  const made = [];
  for (let count = 0; count < 3; count += 1) {
    made.push((await aWorkflow(service.db, { accountId: house.accountId, commit: false })).workflowId);
    await until(() => first.told.length > count);
  }
  first.leave();
  const again = await follow(house.owner, first.told[0]?.id);
  await until(() => again.told.length >= 2);
  expect(inShort(again)).toEqual(made.slice(1).map((id) => ["workflow", id]));
  const fromBeginning = await follow(house.owner, beginning);
  await until(() => fromBeginning.told.length >= 3);
  expect(inShort(fromBeginning)).toEqual(made.map((id) => ["workflow", id]));
  const upToDate = await follow(house.owner, first.lastId());
  for (const unknown of ["0123456789ab.7", "nonsense", `${beginning.split(".")[0]}.99`]) {
    const stream = await follow(house.owner, unknown);
    await until(() => stream.told.length >= 1);
    expect(stream.told.map(({ event }) => event)).toEqual(["resync"]);
  }
  expect(upToDate.told).toEqual([]);
});

test("events, after an interruption of the session that hears of them, are followed by resync", async () => {
  const house = await aHouse(service);
  const stream = await follow(house.owner);
  const listener =
    "select pid from pg_stat_activity where application_name = 'test listener' and datname = current_database()";
  const [before] = await queryRows<{ pid: number }>(service.db, listener);
  await queryRows(service.db, "select pg_terminate_backend(:pid)", { pid: before?.pid });
  await until(() => stream.told.length >= 1);
  expect(inShort(stream)).toEqual([["resync"]]);
});

test("events, more than fit between two looks, are told as resync", async () => {
  const house = await aHouse(service);
  const workflow = await aWorkflow(service.db, { accountId: house.accountId });
  await anExecution(service.db, { workflow, id: `ex_${"0".repeat(26)}` as never });
  await succeed(service.db, { executionId: `ex_${"0".repeat(26)}` as never });
  const stream = await follow(house.owner);
  const { accountId, workflowId, commitId } = workflow;
  await queryRows(
    service.db,
    `insert into executions (id, account_id, workflow_id, commit_id, trigger, state, timeout_seconds, cpu, charge_max, accepted_by, finished_at)
     select 'ex_' || substr(md5('many' || n), 1, 26), :accountId, :workflowId, :commitId, 'api', 'success', 300, 1, 0, 'test', now()
       from generate_series(1, 300) as n`,
    { accountId, workflowId, commitId },
  );
  await until(() => stream.told.length >= 1);
  expect(inShort(stream)).toEqual([["resync"]]);
});

test("events, for as many followers as a process takes, are refused to the next with 503", async () => {
  const log = createLog({ level: "silent", terminal: false });
  const editorEvents = createEditorEvents({ db: service.db, log, followersMax: 1 });
  const small = await aService({ db: service.db, editorEvents });
  try {
    const { viewer } = await aHouse(service);
    const first = await follow(viewer, undefined, small);
    const refused = await ask(small, "/api/events", {}, viewer);
    expect([refused.status, refused.headers["retry-after"]]).toEqual([503, "30"]);
    first.leave();
    let second: Stream | undefined;
    await until(async () => (second = await follow(viewer, undefined, small)).status === 200);
    expect(second?.status).toBe(200);
    editorEvents.close();
    await second?.ended;
    expect((await ask(small, "/api/events", {}, viewer)).status).toBe(503);
  } finally {
    editorEvents.close();
    await small.close();
  }
});

test("events, for as many pages of one account as it may have open, are refused to its next and sent to another account", async () => {
  const log = createLog({ level: "silent", terminal: false });
  const editorEvents = createEditorEvents({ db: service.db, log, followersOfAccountMax: 1 });
  const small = await aService({ db: service.db, editorEvents });
  try {
    const [{ viewer, owner }, other] = [await aHouse(service), await aHouse(service)];
    const first = await follow(viewer, undefined, small);
    expect((await ask(small, "/api/events", {}, owner)).status).toBe(503);
    const second = await follow(other.viewer, undefined, small);
    expect([first.status, second.status]).toEqual([200, 200]);
  } finally {
    editorEvents.close();
    await small.close();
  }
});

test("events, by HEAD, are answered without a stream", async () => {
  const { viewer } = await aHouse(service);
  const answer = await ask(service, "/api/events", { method: "HEAD" }, viewer);
  expect([answer.status, answer.headers["content-type"]]).toEqual([200, "text/event-stream; charset=utf-8"]);
});
