import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { Answer } from "../support/service.ts";
import { aNoticeService, MAIN, type Workflow } from "./notice-service.ts";
import type { Received } from "./receiver.ts";
import { verify, verifyInPython } from "./standardwebhooks.ts";

let room: Awaited<ReturnType<typeof aNoticeService>>;
let busy: { readonly workflow: Workflow; readonly executionId: string };

beforeAll(async () => {
  room = await aNoticeService();
  busy = await begin();
}, 600_000);

afterAll(() => room?.close());

/** Starts a run that takes minutes, of a workflow that allows one at a time and is due at the next minute. */
async function begin(): Promise<typeof busy> {
  for (const name of ["missed", "slow"]) await room.addPlace(name);
  const workflow = await room.publish(
    "notify: { missed: [missed], slow: { after: 1s, to: [slow] } }\nconcurrency: { max: 1, when_full: reject }\n",
    undefined,
    "import time\n\n\ndef main(fail=False, region='US', password=''):\n    time.sleep(280)\n",
    'api: { enabled: true }, schedule: { enabled: true, cron: "* * * * *", overlap: allow }',
  );
  const { body } = await room.run(workflow, {}, { prefer: "respond-async" });
  // Where a minute began between the commit and the call, there is a run of the schedule instead.
  const [row] = await room.query(`select id from executions where workflow_id = '${workflow.workflowId}'`);
  return { workflow, executionId: String(body["executionId"] ?? row?.["id"]) };
}

/** The messages of a type that a path got, once there are as many. Of a place that is gone, all others get one. */
async function heard(path: string, type: string, count: number): Promise<object[]> {
  for (const deadline = Date.now() + 120_000; ; await sleep(50)) {
    const all = room.receiver.on(path).map(({ text }) => JSON.parse(text) as { type: string });
    const found = all.filter((message) => message.type === type);
    if (found.length >= count || Date.now() > deadline) return found;
  }
}

test("notices, of a failure and of the success after it, arrive signed; no other success is told", async () => {
  const secret = await room.addPlace("ops");
  const workflow = await room.publish("notify: { failure: [ops], recovery: [ops] }\n");
  const good = await room.run(workflow);
  const { commitId } = await room.publish(
    "notify: { failure: [ops], recovery: [ops] }\n",
    workflow.workflowId,
    `${MAIN}\n`,
  );
  const failed = await room.run(workflow, { fail: true, region: "EU", password: "correct-horse" });
  expect([good.body["status"], failed.body["status"]]).toEqual(["success", "failed"]);
  const [first] = await room.receiver.until("/ops", 1);
  const message = verify(secret, first as Received);
  expect(message).toMatchObject({
    type: "run.failed",
    data: {
      workflow: { workflowId: workflow.workflowId, name: "Load" },
      run: { executionId: failed.body["executionId"], status: "failed", trigger: "api" },
      log: expect.arrayContaining(["region EU", "ValueError: the warehouse is shut"]),
      changed: {
        since: { executionId: good.body["executionId"] },
        commit: { before: workflow.commitId, after: commitId },
        inputs: [
          { name: "fail", before: "false", after: "true" },
          { name: "region", before: '"US"', after: '"EU"' },
        ],
      },
      runAgain: `treadle executions rerun ${String(failed.body["executionId"])} -i password=SECRET`,
      url: room.pageOf(failed.body["executionId"]),
    },
  });
  expect((first as Received).text).not.toContain("correct-horse");
  for (let count = 0; count < 2; count++) expect((await room.run(workflow)).body["status"]).toBe("success");
  const [, second] = await room.receiver.until("/ops", 2);
  expect(verify(secret, second as Received)).toMatchObject({ type: "run.recovered" });
  const { notices } = (await room.command(["notify", "sent", "--place", "ops"])) as {
    notices: Record<string, unknown>[];
  };
  expect(notices.map(({ kind, state, answer }) => [kind, state, answer])).toEqual([
    ["recovery", "delivered", "204"],
    ["failure", "delivered", "204"],
  ]);
  expect(notices[1]?.["noticeId"]).toBe((first as Received).headers["webhook-id"]);
});

test("notice, sent again, has its id; one during the grace of a rotation is signed with both secrets", async () => {
  const before = await room.addPlace("again");
  expect(await room.command(["notify", "test", "again"])).toMatchObject({ state: "delivered", attempts: 1 });
  const { secret } = await room.command(["notify", "rotate", "again", "--grace", "1h"]);
  const { notices } = (await room.command(["notify", "sent", "--place", "again"])) as {
    notices: { noticeId: string }[];
  };
  await room.command(["notify", "resend", String(notices[0]?.noticeId)]);
  const [one, other] = (await room.receiver.until("/again", 2)) as [Received, Received];
  expect(other.headers["webhook-id"]).toBe(one.headers["webhook-id"]);
  for (const key of [before, String(secret)]) expect(verify(key, other)).toMatchObject({ type: "test" });
  expect(() => verify(String(secret), one)).toThrow("No matching signature found");
  const changed = { ...one, text: one.text.replace('"test"', '"best"') };
  const late = { ...other, headers: { ...other.headers, "webhook-timestamp": "1700000000" } };
  expect(
    await verifyInPython([
      [before, one],
      [before, other],
      [String(secret), other],
      [String(secret), one],
      [before, changed],
      [before, late],
    ]),
  ).toEqual(
    [
      ["test", "test", "test"],
      ["No matching signature found", "No matching signature found", "Message timestamp too old"],
    ].flat(),
  );
});

test("receivers, that hang, redirect or are gone, hold up nobody else", async () => {
  for (const name of ["dead", "moved", "gone", "alive"]) await room.addPlace(name);
  const workflow = await room.publish("notify: { failure: [dead, moved, gone, alive] }\n");
  await room.run(workflow, { fail: true });
  expect(await heard("/alive", "run.failed", 1)).toHaveLength(1);
  const failedAt = Date.now();
  const other = await room.publish("notify: { failure: [dead, alive] }\n");
  await room.run(other, { fail: true });
  expect(await heard("/alive", "run.failed", 2)).toHaveLength(2);
  expect(Date.now() - failedAt).toBeLessThan(30_000);
  expect(room.receiver.on("/gone")).toHaveLength(1);
  for (const deadline = Date.now() + 60_000; ; await sleep(1_500)) {
    const { places } = (await room.command(["notify", "list"])) as { places: Record<string, unknown>[] };
    const gone = places.find(({ name }) => name === "gone");
    if (gone?.["disabledAt"] !== null || Date.now() > deadline) {
      expect(gone).toMatchObject({ disabledReason: expect.stringContaining("410") });
      break;
    }
  }
  const { notices } = (await room.command(["notify", "sent", "--place", "moved"])) as { notices: { kind: string }[] };
  expect(notices.filter(({ kind }) => kind === "failure")).toMatchObject([
    { state: "waiting", answer: expect.stringContaining("redirects are not followed") },
  ]);
  expect(await heard("/alive", "place.disabled", 1)).toMatchObject([
    { data: { place: "gone", workflow: null, runAgain: "treadle notify change gone" } },
  ]);
});

test("notices, of a storm, come as one after the first; runs that nobody hears of write none", async () => {
  await room.addPlace("storm");
  const workflow = await room.publish("notify: { failure: [storm] }\n");
  const quiet = await room.publish("");
  for (let count = 0; count < 5; count++) for (const one of [workflow, quiet]) await room.run(one, { fail: true });
  await room.receiver.until("/storm", 1);
  const rows = await room.query(`select more, due_at - created_at > interval '8 minutes' as later from notices
                             where workflow_id in ('${workflow.workflowId}', '${quiet.workflowId}') order by created_at`);
  expect(rows).toEqual([
    { more: 0, later: false },
    { more: 3, later: true },
  ]);
  await room.query(`update notices set due_at = now() where workflow_id = '${workflow.workflowId}' and more = 3`);
  const [, folded] = await room.receiver.until("/storm", 2);
  expect(JSON.parse((folded as Received).text)).toMatchObject({ type: "run.failed", data: { more: 3 } });
});

test("mail, to a server that is busy at first, arrives over TLS; what the server refuses is said", async () => {
  for (const [name, address] of Object.entries({ mail: "ops@example.test", nobody: "nobody@example.test" }))
    await room.command(["notify", "add", name, address, "--kind", "email"]);
  const workflow = await room.publish("notify: { failure: [mail] }\n");
  room.mailServer.state.greylisted = 1;
  const failed = await room.run(workflow, { fail: true });
  for (const deadline = Date.now() + 60_000; room.mailServer.mails.length === 0 && Date.now() < deadline; )
    await sleep(100);
  const [mail = ""] = room.mailServer.mails;
  const { notices } = (await room.command(["notify", "sent", "--place", "mail"])) as {
    notices: Record<string, unknown>[];
  };
  expect(notices).toMatchObject([{ state: "delivered", attempts: 2 }]);
  expect(mail).toMatch(/^Subject: Load failed\r$/m);
  expect(mail).toMatch(/^To: ops@example\.test\r$/m);
  expect(mail).toContain(`Message-ID: <${String(notices[0]?.["noticeId"])}@treadle>`);
  expect(mail).toContain("the warehouse is shut");
  expect(mail).toContain(String(failed.body["executionId"]));
  expect(await room.failing(["notify", "test", "nobody"])).toContain("550");
  room.mailServer.state.password = "another";
  expect(await room.failing(["notify", "test", "mail"])).toContain("The mail server refused the sign-in");
  room.mailServer.state.password = "pass word/1";
  expect(await room.command(["notify", "test", "mail"])).toMatchObject({ state: "delivered" });
  expect(room.mailServer.state.sessionsWithoutTls).toBe(0);
});

test("places, whose names lead to this machine or into its network, are not reached", async () => {
  await room.command([
    "notify",
    "add",
    "inside",
    `https://localhost:${room.receiver.port}/inside`,
    "--kind",
    "webhook",
  ]);
  expect(await room.failing(["notify", "test", "inside"])).toContain("localhost has an address that is not public");
  expect(await room.failing(["notify", "add", "other", "http://127.0.0.1:1/hook", "--kind", "slack"])).toContain(
    "must begin with https://",
  );
  expect(room.receiver.on("/inside")).toEqual([]);
});

test("place, whose private address was granted and is no more, gets nothing, and its notices say why", async () => {
  const add = ["notify", "add", "granted", "https://10.99.0.7:8443/hook", "--kind", "webhook"];
  const grant = "treadle destinations add NAME 10.99.0.7:8443";
  expect(await room.failing(add)).toContain(grant);
  await room.command(["destinations", "add", "hooks", "10.99.0.0/28:8443"]);
  await room.command(add);
  await room.command(["destinations", "remove", "hooks"]);
  expect(await room.failing(["notify", "test", "granted"])).toContain(grant);
  const { notices } = await room.command(["notify", "sent", "--place", "granted"]);
  expect(notices).toMatchObject([
    { state: "failed", attempts: 1, answer: expect.stringContaining("the account has no destination there") },
  ]);
});

test("result of a call, to the address that it gave, is what its own address answers, of a success and of a failure", async () => {
  const secret = `whsec_${Buffer.alloc(32, 5).toString("base64")}`;
  const workflow = await room.publish("notify: { failure: [] }\n");
  const call = (path: string, inputs: object): Promise<Answer> =>
    room.run(workflow, inputs, {
      "webhook-url": room.receiver.url(path),
      "webhook-secret": secret,
      prefer: "respond-async",
      "idempotency-key": path,
    });
  room.receiver.answers["/done"] = { status: 503 };
  for (const [path, inputs] of [
    ["/dead", {}],
    ["/done", { region: "EU" }],
    ["/undone", { fail: true }],
  ] as const) {
    const [first, again] = [await call(path, inputs), await call(path, inputs)];
    expect([first.status, again.body["executionId"]]).toEqual([202, first.body["executionId"]]);
  }
  const [undone] = (await room.receiver.until("/undone", 1)) as [Received];
  expect(verify(secret, undone)).toMatchObject({
    type: "run.ended",
    data: { status: "failed", error: "Execution failed" },
  });
  await room.receiver.until("/done", 1);
  room.receiver.answers["/done"] = { status: 204 };
  const [tried, done] = (await room.receiver.until("/done", 2)) as [Received, Received];
  const { data } = verify(secret, done) as unknown as { data: Record<string, unknown> };
  expect(data).toMatchObject({ noticeId: tried.headers["webhook-id"], status: "success" });
  const record = await room.call(`/run-logs/${String(data["executionId"])}`, {
    headers: { "x-api-key": workflow.apiKey },
  });
  expect(data).toEqual({ noticeId: tried.headers["webhook-id"], ...record.body });
  const { notices } = (await room.command(["notify", "sent", "--limit", "20"])) as {
    notices: { kind: string; place: null }[];
  };
  const results = notices.filter(({ kind }) => kind === "result");
  expect(results.map(({ kind, place }) => [kind, place])).toEqual(Array(3).fill(["result", null]));
  expect(await room.query("select 1 from notices where kind = 'result'")).toHaveLength(3);
});

test("receivers, whose answers are long or never end, are cut off; what they had said is kept", async () => {
  for (const name of ["endless", "trickle", "silent"]) await room.addPlace(name);
  room.receiver.answers["/silent"] = "never";
  const [endless, ...late] = await Promise.all([
    room.command(["notify", "test", "endless"]),
    ...["trickle", "silent"].map((name) => room.failing(["notify", "test", name])),
  ]);
  expect(endless).toMatchObject({ state: "delivered", answer: expect.stringMatching(/^200 no end .{480,500}$/) });
  // What the two kernels hold is sent all the same.
  expect(await room.receiver.bodies["/endless"]).toBeLessThan(16 * 1024 ** 2);
  expect(await room.receiver.bodies["/trickle"]).toBeLessThan(60);
  expect(late).toEqual(Array(2).fill(expect.stringContaining("No answer within 10 seconds.")));
});

test("notices, of a run that takes long and of a tick that it left no room for, arrive while it goes on", async () => {
  const { workflowId, apiKey } = busy.workflow;
  expect(await heard("/slow", "run.slow", 1)).toMatchObject([
    { data: { run: { executionId: busy.executionId, status: "running", finishedAt: null } } },
  ]);
  const missed = await heard("/missed", "tick.missed", 1);
  const [tick] = await room.query(`select nominal_at, reason from ticks where workflow_id = '${workflowId}'
                               and outcome = 'refused_concurrency' order by nominal_at limit 1`);
  const from = tick?.["nominal_at"] as Date;
  const period = `--from ${from.toISOString()} --to ${new Date(from.getTime() + 60_000).toISOString()}`;
  expect(missed).toMatchObject([
    {
      data: {
        workflow: { workflowId },
        run: null,
        tick: { nominalAt: from.toISOString(), reason: tick?.["reason"] },
        runAgain: `treadle schedules backfill ${workflowId} ${period}`,
      },
    },
  ]);
  const headers = { "x-api-key": apiKey };
  const now = await room.call(`/run-logs/${busy.executionId}`, { headers });
  expect(now.body["status"]).toBe("running");
  expect(await heard("/slow", "run.slow", 1)).toHaveLength(1);
  await room.call(`/run-logs/${busy.executionId}/cancel`, { method: "POST", headers });
  await room.command(["workflows", "delete", workflowId]);
}, 240_000);

test("notices, of a failure while the service is killed, arrive after it is back", async () => {
  const secret = await room.addPlace("survivor");
  const workflow = await room.publish("notify: { failure: [survivor] }\n");
  room.receiver.answers["/survivor"] = { status: 503 };
  const failed = await room.run(workflow, { fail: true });
  await room.receiver.until("/survivor", 1);
  await room.whileDead(() => void (room.receiver.answers["/survivor"] = { status: 204 }));
  const [first, second] = (await room.receiver.until("/survivor", 2, 120_000)) as [Received, Received];
  expect(verify(secret, second)).toMatchObject({ data: { run: { executionId: failed.body["executionId"] } } });
  expect(second.headers["webhook-id"]).toBe(first.headers["webhook-id"]);
  // This one has no hosts that calls may name.
  const refused = await room.run(workflow, {}, { "webhook-url": room.receiver.url("/refused") });
  expect(refused).toMatchObject({
    status: 400,
    body: { message: expect.stringContaining("The operator can allow hosts with TREADLE_WEBHOOK_HOSTS.") },
  });
}, 300_000);
