import { writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import pg from "pg";
import { aFolder, treadle } from "../support/command-line.ts";
import { type Answer, aDataDir, startService, type TestService } from "../support/service.ts";
import { aMailServer } from "./mail-server.ts";
import { aReceiver, type Received } from "./receiver.ts";
import { verify, verifyInPython } from "./standardwebhooks.ts";

let service: TestService;
let dataDir: Awaited<ReturnType<typeof aDataDir>>;
let receiver: Awaited<ReturnType<typeof aReceiver>>;
let mailServer: Awaited<ReturnType<typeof aMailServer>>;

beforeAll(async () => {
  receiver = await aReceiver({
    "/moved": { status: 302, headers: { location: "/ops" } },
    "/gone": { status: 410 },
    "/dead": "never",
  });
  mailServer = await aMailServer();
  dataDir = await aDataDir();
  const parent = dirname(dataDir.dataDir);
  await writeFile(join(parent, "mail-url"), mailServer.url, { mode: 0o600 });
  await writeFile(join(parent, "authority.pem"), mailServer.cert, { mode: 0o644 });
  service = await startService({
    dataDir: dataDir.dataDir,
    env: {
      TREADLE_NOTICE_HOSTS: `127.0.0.1:${receiver.port}`,
      TREADLE_WEBHOOK_HOSTS: `127.0.0.1:${receiver.port}`,
      TREADLE_SMTP_URL_FILE: join(parent, "mail-url"),
      TREADLE_SMTP_FROM: "Treadle <treadle@example.test>",
      NODE_EXTRA_CA_CERTS: join(parent, "authority.pem"),
    },
  });
}, 600_000);

afterAll(async () => {
  await service?.stop();
  await receiver?.close();
  await mailServer?.close();
  await dataDir?.remove();
});

async function command(args: readonly string[], input = ""): Promise<Record<string, unknown>> {
  const answer = await treadle(dataDir.dataDir, [...args, "--json"], input);
  expect([args, answer.code, answer.stdout + answer.stderr]).toEqual([args, 0, expect.any(String)]);
  return answer.json();
}

async function addPlace(name: string, path = `/${name}`, kind = "webhook"): Promise<string> {
  return String((await command(["notify", "add", name, "--kind", kind], `${receiver.url(path)}\n`))["secret"]);
}

async function query(sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({
    host: join(dataDir.dataDir, "postgres/socket"),
    user: "treadle",
    database: "treadle",
  });
  await client.connect();
  try {
    return (await client.query(sql)).rows as Record<string, unknown>[];
  } finally {
    await client.end();
  }
}

/** Fails where it is told to, and prints a secret input of it. */
const MAIN = `import sys


def main(fail=False, region="US", password=""):
    print("region", region)
    print("kept from", password, file=sys.stderr)
    if fail:
        raise ValueError("the warehouse is shut")
`;
const INPUTS =
  "inputs:\n  fail: { type: boolean, default: false }\n  region: { type: string, default: US }\n  password: { type: secret, required: false }\n";

interface Workflow {
  readonly workflowId: string;
  readonly apiKey: string;
  readonly commitId: string;
}

async function publish(notify: string, workflowId?: string, main = MAIN): Promise<Workflow> {
  const folder = await aFolder({
    "config.yaml": `name: Load\n${INPUTS}triggers: { api: { enabled: true } }\n${notify}`,
    "main.py": main,
  });
  const given = workflowId === undefined ? [] : ["--workflow", workflowId];
  return (await command(["publish", folder, ...given])) as unknown as Workflow;
}

function run({ workflowId, apiKey }: Workflow, inputs: object = {}, headers: object = {}): Promise<Answer> {
  return service.call(`/workflows/${workflowId}/execute`, {
    method: "POST",
    headers: { "x-api-key": apiKey, "content-type": "application/json", ...headers },
    body: JSON.stringify(inputs),
  });
}

test("notices, of a failure and of the success after it, arrive signed; no other success is told", async () => {
  const secret = await addPlace("ops");
  const workflow = await publish("notify: { failure: [ops], recovery: [ops] }\n");
  const good = await run(workflow);
  const { commitId } = await publish("notify: { failure: [ops], recovery: [ops] }\n", workflow.workflowId, `${MAIN}\n`);
  const failed = await run(workflow, { fail: true, region: "EU", password: "correct-horse" });
  expect([good.body["status"], failed.body["status"]]).toEqual(["success", "failed"]);
  const [first] = await receiver.until("/ops", 1);
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
      url: null,
    },
  });
  expect((first as Received).text).not.toContain("correct-horse");
  for (let count = 0; count < 2; count++) expect((await run(workflow)).body["status"]).toBe("success");
  const [, second] = await receiver.until("/ops", 2);
  expect(verify(secret, second as Received)).toMatchObject({ type: "run.recovered" });
  const { notices } = (await command(["notify", "sent", "--place", "ops"])) as { notices: Record<string, unknown>[] };
  expect(notices.map(({ kind, state, answer }) => [kind, state, answer])).toEqual([
    ["recovery", "delivered", "204"],
    ["failure", "delivered", "204"],
  ]);
  expect(notices[1]?.["noticeId"]).toBe((first as Received).headers["webhook-id"]);
});

test("notice, sent again, has its id; one during the grace of a rotation is signed with both secrets", async () => {
  const before = await addPlace("again");
  expect(await command(["notify", "test", "again"])).toMatchObject({ state: "delivered", attempts: 1 });
  const { secret } = await command(["notify", "rotate", "again", "--grace", "1h"]);
  const { notices } = (await command(["notify", "sent", "--place", "again"])) as { notices: { noticeId: string }[] };
  await command(["notify", "resend", String(notices[0]?.noticeId)]);
  const [one, other] = (await receiver.until("/again", 2)) as [Received, Received];
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
  ).toEqual([
    ...["test", "test", "test"],
    ...["No matching signature found", "No matching signature found", "Message timestamp too old"],
  ]);
});

test("receivers, that hang, redirect or are gone, hold up nobody else", async () => {
  for (const name of ["dead", "moved", "gone", "alive"]) await addPlace(name);
  const workflow = await publish("notify: { failure: [dead, moved, gone, alive] }\n");
  await run(workflow, { fail: true });
  // Of the place that is gone, the others hear as well.
  const heard = async (type: string, count: number): Promise<object[]> => {
    for (const deadline = Date.now() + 60_000; ; await sleep(50)) {
      const all = receiver.on("/alive").map(({ text }) => JSON.parse(text) as { type: string });
      const found = all.filter((message) => message.type === type);
      if (found.length >= count || Date.now() > deadline) return found;
    }
  };
  expect(await heard("run.failed", 1)).toHaveLength(1);
  const failedAt = Date.now();
  const other = await publish("notify: { failure: [dead, alive] }\n");
  await run(other, { fail: true });
  expect(await heard("run.failed", 2)).toHaveLength(2);
  expect(Date.now() - failedAt).toBeLessThan(30_000);
  expect(receiver.on("/gone")).toHaveLength(1);
  for (const deadline = Date.now() + 60_000; ; await sleep(100)) {
    const { places } = (await command(["notify", "list"])) as { places: Record<string, unknown>[] };
    const gone = places.find(({ name }) => name === "gone");
    if (gone?.["disabledAt"] !== null || Date.now() > deadline) {
      expect(gone).toMatchObject({ disabledReason: expect.stringContaining("410") });
      break;
    }
  }
  const { notices } = (await command(["notify", "sent", "--place", "moved"])) as { notices: { kind: string }[] };
  expect(notices.filter(({ kind }) => kind === "failure")).toMatchObject([
    { state: "waiting", answer: expect.stringContaining("redirects are not followed") },
  ]);
  expect(await heard("place.disabled", 1)).toMatchObject([
    { data: { place: "gone", workflow: null, runAgain: "treadle notify change gone" } },
  ]);
});

test("notices, of a storm, come as one after the first; runs that nobody hears of write none", async () => {
  await addPlace("storm");
  const workflow = await publish("notify: { failure: [storm] }\n");
  const quiet = await publish("");
  for (let count = 0; count < 5; count++) for (const one of [workflow, quiet]) await run(one, { fail: true });
  await receiver.until("/storm", 1);
  const rows = await query(`select more, due_at - created_at > interval '8 minutes' as later from notices
                             where workflow_id in ('${workflow.workflowId}', '${quiet.workflowId}') order by created_at`);
  expect(rows).toEqual([
    { more: 0, later: false },
    { more: 3, later: true },
  ]);
  await query(`update notices set due_at = now() where workflow_id = '${workflow.workflowId}' and more = 3`);
  const [, folded] = await receiver.until("/storm", 2);
  expect(JSON.parse((folded as Received).text)).toMatchObject({ type: "run.failed", data: { more: 3 } });
});

/** What a command says that is refused, or does not succeed. */
async function failing(args: readonly string[], input = ""): Promise<string> {
  const answer = await treadle(dataDir.dataDir, args, input);
  expect([args, answer.code]).toEqual([args, 1]);
  return answer.stdout + answer.stderr;
}

test("mail, to a server that is busy at first, arrives over TLS; what the server refuses is said", async () => {
  for (const [name, address] of Object.entries({ mail: "ops@example.test", nobody: "nobody@example.test" }))
    await command(["notify", "add", name, address, "--kind", "email"]);
  const workflow = await publish("notify: { failure: [mail] }\n");
  mailServer.state.greylisted = 1;
  const failed = await run(workflow, { fail: true });
  for (const deadline = Date.now() + 60_000; mailServer.mails.length === 0 && Date.now() < deadline; ) await sleep(100);
  const [mail = ""] = mailServer.mails;
  const { notices } = (await command(["notify", "sent", "--place", "mail"])) as { notices: Record<string, unknown>[] };
  expect(notices).toMatchObject([{ state: "delivered", attempts: 2 }]);
  expect(mail).toMatch(/^Subject: Load failed\r$/m);
  expect(mail).toMatch(/^To: ops@example\.test\r$/m);
  expect(mail).toContain(`Message-ID: <${String(notices[0]?.["noticeId"])}@treadle>`);
  expect(mail).toContain("the warehouse is shut");
  expect(mail).toContain(String(failed.body["executionId"]));
  expect(await failing(["notify", "test", "nobody"])).toContain("550");
  mailServer.state.password = "another";
  expect(await failing(["notify", "test", "mail"])).toContain("The mail server refused the sign-in");
  mailServer.state.password = "pass word/1";
  expect(await command(["notify", "test", "mail"])).toMatchObject({ state: "delivered" });
  expect(mailServer.state.sessionsWithoutTls).toBe(0);
});

test("places, whose names lead to this machine or into its network, are not reached", async () => {
  await command(["notify", "add", "inside", `https://localhost:${receiver.port}/inside`, "--kind", "webhook"]);
  expect(await failing(["notify", "test", "inside"])).toContain("localhost has an address that is not public");
  expect(await failing(["notify", "add", "other", "http://127.0.0.1:1/hook", "--kind", "slack"])).toContain(
    "must begin with https://",
  );
  expect(receiver.on("/inside")).toEqual([]);
});

test("result of a call, to the address that it gave, is what its own address answers, of a success and of a failure", async () => {
  const secret = `whsec_${Buffer.alloc(32, 5).toString("base64")}`;
  const workflow = await publish("notify: { failure: [] }\n");
  const call = (path: string, inputs: object): Promise<Answer> =>
    run(workflow, inputs, {
      ...{ "webhook-url": receiver.url(path), "webhook-secret": secret, prefer: "respond-async" },
      "idempotency-key": path,
    });
  receiver.answers["/done"] = { status: 503 };
  for (const [path, inputs] of [
    ["/dead", {}],
    ["/done", { region: "EU" }],
    ["/undone", { fail: true }],
  ] as const) {
    const [first, again] = [await call(path, inputs), await call(path, inputs)];
    expect([first.status, again.body["executionId"]]).toEqual([202, first.body["executionId"]]);
  }
  const [undone] = (await receiver.until("/undone", 1)) as [Received];
  expect(verify(secret, undone)).toMatchObject({
    type: "run.ended",
    data: { status: "failed", error: "Execution failed" },
  });
  await receiver.until("/done", 1);
  receiver.answers["/done"] = { status: 204 };
  const [tried, done] = (await receiver.until("/done", 2)) as [Received, Received];
  const { data } = verify(secret, done) as unknown as { data: Record<string, unknown> };
  expect(data).toMatchObject({ noticeId: tried.headers["webhook-id"], status: "success" });
  const record = await service.call(`/run-logs/${String(data["executionId"])}`, {
    headers: { "x-api-key": workflow.apiKey },
  });
  expect(data).toEqual({ noticeId: tried.headers["webhook-id"], ...record.body });
  const { notices } = (await command(["notify", "sent", "--limit", "3"])) as {
    notices: { kind: string; place: null }[];
  };
  expect(notices.map(({ kind, place }) => [kind, place])).toEqual(Array(3).fill(["result", null]));
  expect(await query("select 1 from notices where kind = 'result'")).toHaveLength(3);
});

test("notices, of a failure while the service is killed, arrive after it is back", async () => {
  const secret = await addPlace("survivor");
  const workflow = await publish("notify: { failure: [survivor] }\n");
  receiver.answers["/survivor"] = { status: 503 };
  const failed = await run(workflow, { fail: true });
  await receiver.until("/survivor", 1);
  await service.stop("SIGKILL");
  receiver.answers["/survivor"] = { status: 204 };
  service = await startService({
    dataDir: dataDir.dataDir,
    env: { TREADLE_NOTICE_HOSTS: `127.0.0.1:${receiver.port}` },
  });
  const [first, second] = (await receiver.until("/survivor", 2, 120_000)) as [Received, Received];
  expect(verify(secret, second)).toMatchObject({ data: { run: { executionId: failed.body["executionId"] } } });
  expect(second.headers["webhook-id"]).toBe(first.headers["webhook-id"]);
  // This one has no hosts that calls may name.
  const refused = await run(workflow, {}, { "webhook-url": receiver.url("/refused") });
  expect(refused).toMatchObject({
    status: 400,
    body: { message: expect.stringContaining("The operator can allow hosts with TREADLE_WEBHOOK_HOSTS.") },
  });
}, 300_000);
