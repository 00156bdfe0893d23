import { chmod, mkdir, readdir, readFile, rename, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { S3_INSTALL_MS_MAX } from "../../bench/s3-programs.ts";
import type { Published } from "../../bench/service.ts";
import { queryRows } from "../../db/connect.ts";
import { findMoneyFaults } from "../../db/ledger/audit.ts";
import { anIndex, onlyFrom } from "../environments/machine.ts";
import { aCluster, type Cluster, type ClusterHost } from "../support/cluster.ts";
import { aFolder, treadle } from "../support/command-line.ts";
import { POOLER_SESSIONS } from "../support/pooler.ts";
import { type Answer, isAlive, listTree, type TestService } from "../support/service.ts";

/** Says which attempt its output is of. Where it is asked to wait, it does so on a host that allows few open files, until it is stopped. */
const PROGRAM = `import resource
import time
import treadle
from pathlib import Path

def main(wait, lines):
    print("begun")
    treadle.progress(0.5, "half")
    for number in range(lines):
        print(number)
    while wait and resource.getrlimit(resource.RLIMIT_NOFILE)[0] < 512:
        time.sleep(0.05)
    Path("outputs").mkdir(exist_ok=True)
    Path("outputs/stamp.txt").write_text(str(time.time_ns()))
    print("ended")
`;
const config = (more = "") =>
  `inputs:\n  wait: { type: boolean, default: false }\n  lines: { type: integer, default: 0 }\n${more}triggers:\n  api: { enabled: true }\n`;
const NETWORKED = config("limits: { network: true }\n");

let cluster: Cluster;
let hosts: { readonly api: ClusterHost; readonly one: ClusterHost; readonly two: ClusterHost };
let running: { api?: TestService; one?: TestService; two?: TestService } = {};
let plain: Published;
let retried: Published;
let networked: Published;
let sleeping: Published;

beforeAll(async () => {
  const packages = onlyFrom(anIndex({ name: "hello", files: { "hello.py": "" } }));
  cluster = await aCluster({ ...packages, TREADLE_HOST_GONE_SECONDS: "10", TREADLE_DRAIN_SECONDS: "0" });
  hosts = { api: await cluster.aHost(), one: await cluster.aHost(), two: await cluster.aHost() };
  running = { api: await hosts.api.start({ TREADLE_ROLE: "api" }) };
  plain = await publish(config());
  retried = await publish(config("retry: { max_attempts: 2 }\n"));
  networked = await publish(NETWORKED); // No worker is known yet.
  sleeping = await publish(NETWORKED, {
    "main.py": "import time\ndef main(wait, lines):\n    time.sleep(2)\n",
  });
}, S3_INSTALL_MS_MAX);

afterAll(async () => {
  await Promise.all(Object.values(running).map((service) => service.stop()));
  await cluster?.stop();
});

async function tryToPublish(text: string, more: Record<string, string> = {}): ReturnType<typeof treadle> {
  const folder = await aFolder({ "config.yaml": text, "main.py": PROGRAM, ...more });
  return treadle(hosts.api.dataDir, ["publish", folder, "--json"]);
}

async function publish(text: string, more?: Record<string, string>): Promise<Published> {
  const published = await tryToPublish(text, more);
  expect([published.code, published.stderr]).toEqual([0, expect.any(String)]);
  return published.json() as unknown as Published;
}

const api = (): TestService => running.api as TestService;
const keyOf = ({ apiKey }: Published) => ({ "x-api-key": apiKey });

function execute(of: Published, inputs: object = {}): Promise<Answer> {
  return api().call(`/workflows/${of.workflowId}/execute`, {
    method: "POST",
    headers: { ...keyOf(of), "content-type": "application/json", prefer: "respond-async" },
    body: JSON.stringify(inputs),
  });
}

async function begin(of: Published, inputs: object = {}): Promise<string> {
  const answer = await execute(of, inputs);
  expect(answer.status).toBe(202);
  return answer.body.executionId as string;
}

const look = async (of: Published, path: string, headers: Record<string, string> = {}, service = api()) =>
  service.call(`/run-logs/${path}`, { method: "GET", headers: { ...keyOf(of), ...headers } });

async function end(of: Published, executionId: string): Promise<Answer> {
  for (;;) {
    const answer = await look(of, executionId);
    if (!["queued", "running"].includes(answer.body.status as string)) return answer;
    await sleep(200);
  }
}

const findAttempts = (executionId: string) =>
  queryRows<{ status: string | null; message: string; lost: boolean }>(
    cluster.db,
    "select status, message, outputs_lost as lost from attempts where execution_id = :executionId order by attempt",
    { executionId },
  );

/** Waits until the program of an execution has ended, with its outputs on the host that ran it. */
async function programOf(executionId: string): Promise<void> {
  while ((await findAttempts(executionId))[0]?.status !== "success") await sleep(50);
}

const findMoney = async () => {
  const [row] = await queryRows<{ balance: bigint; reserved: bigint }>(
    cluster.db,
    "select sum(balance)::bigint as balance, sum(reserved)::bigint as reserved from accounts",
  );
  return row as { balance: bigint; reserved: bigint };
};

const idsOf = (events: string): number[] => (events.match(/^id: \d+$/gm) ?? []).map((line) => Number(line.slice(4)));
const linesOf = (log: string): string[] =>
  log
    .trim()
    .split("\n")
    .map((line) => line.replace(/^\S+ /, ""));

/** More than one answer between hosts takes. The long form: `TREADLE_TEST_LOG_LINES=100000`. */
const MANY = Number(process.env["TREADLE_TEST_LOG_LINES"] ?? 20_000);
const EVENTS = { accept: "text/event-stream" };

/** Calls until no more is accepted, and answers that; what was accepted before ends uncharged. */
async function refused(of: Published): Promise<Answer> {
  for (;;) {
    const answer = await execute(of);
    if (answer.status !== 202) return answer;
    expect((await end(of, answer.body.executionId as string)).body).toMatchObject({ cost: { total: 0 } });
  }
}

const countExecutions = async () => (await queryRows(cluster.db, "select from executions")).length;

test("a call whose program no worker can begin, for want of isolation, is answered 503 with the reason, and nothing is recorded or charged; what needs a network is not published", async () => {
  // One that is found first, says its version, and makes no sandbox.
  const bin = join(dirname(hosts.one.dataDir), "bin");
  await mkdir(bin);
  await writeFile(join(bin, "bwrap"), '#!/bin/sh\n[ "$1" = --version ] && echo bubblewrap 0.8.0 || exit 1\n');
  await chmod(join(bin, "bwrap"), 0o755);
  const before = await findMoney();
  const worker = await hosts.one.startWorker({
    PATH: `${bin}:${process.env.PATH ?? ""}`,
    TREADLE_NETWORK_SLOTS: "0",
    TREADLE_MEMORY_BYTES_MAX: "1000000000",
    TREADLE_CPU_MAX: "2",
  });
  await refused(plain);
  const count = await countExecutions();
  for (const workflow of [plain, networked]) {
    const answer = await execute(workflow);
    expect([answer.status, answer.headers["retry-after"]]).toEqual([503, "30"]);
    expect(answer.body).toMatchObject({ error: "Service busy" });
    expect(answer.body.message).toMatch(
      /^No worker can run it\. One says: Programs are not run on this host: .* Nothing was started or charged;/,
    );
  }
  const published = await tryToPublish(config("limits:\n  network: true\n  memory: 2GB\n  cpu: 4\n"));
  await worker.stop();
  expect([published.code, published.stdout]).toEqual([1, expect.stringContaining("access to the network")]);
  const { details } = published.json() as unknown as { details: { line: number; message: string }[] };
  expect(details.map(({ line, message }) => [line, message])).toEqual([
    [5, expect.stringContaining("access to the network")],
    [6, expect.stringMatching(/ to 1 GB\. .*TREADLE_MEMORY_BYTES_MAX/)],
    [7, expect.stringMatching(/ from 0\.1 to 2\. .*TREADLE_CPU_MAX/)],
  ]);
  expect([await countExecutions(), await findMoney()]).toEqual([count, before]);
});

test("a run that its host hands over to another has one log, in storage and in the live stream, with ids that go on", async () => {
  const one = (running.one = await hosts.one.start({ TREADLE_NETWORK_SLOTS: "0", TREADLE_OPEN_FILES_MAX: "256" }));
  const executionId = await begin(plain, { wait: true });
  while (!(await look(plain, `${executionId}/logs`, {}, one)).text.includes("begun")) await sleep(50);
  const follow = (service: TestService, id: string, more: Record<string, string> = {}) =>
    service.begin(`/run-logs/${id}/logs`, { method: "GET", headers: { ...keyOf(plain), ...EVENTS, ...more } });
  const followed = await follow(one, executionId);
  // By the process that runs nothing as well: while it goes on, and from one host to the other.
  const fromApi = await follow(api(), executionId);
  while (!/^id: 1$/m.test(fromApi.soFar())) await sleep(20);
  while (!fromApi.soFar().includes('event: progress\ndata: {"fraction":0.5,"message":"half"}')) await sleep(20);
  expect(linesOf((await look(plain, `${executionId}/logs`)).text)).toEqual(["stdout begun"]);
  const talker = await begin(plain, { lines: MANY });
  const talking = await follow(api(), talker);
  while (!/^id: 100$/m.test(talking.soFar())) await sleep(20);
  const resumed = await follow(one, talker, { "last-event-id": "100" });
  const talked = await talking.text;
  expect(idsOf(await resumed.text)).toEqual(Array.from({ length: MANY - 98 }, (_, at) => at + 101));
  expect(idsOf(talked)).toEqual(Array.from({ length: MANY + 2 }, (_, at) => at + 1));
  expect(talked.match(/"text":"\d+"/g)?.map((text) => Number(/\d+/.exec(text)))).toEqual([...Array(MANY).keys()]);
  // Its outputs go through storage, from which the next test cuts it off.
  const two = (running.two = await hosts.two.start({
    TREADLE_NETWORK_SLOTS: "0",
    TREADLE_SMALL_OUTPUTS_BYTES_MAX: "0",
  }));
  await one.stop();
  delete running.one;
  const first = await followed.text;
  expect([idsOf(first), first.match(/^event: result$/m)]).toEqual([[1], null]);

  const whole = await fromApi.text;
  expect([idsOf(whole), whole.match(/^event: result$/gm)]).toEqual([[1, 2, 3, 4], ["event: result"]]);
  const rest = await look(plain, `${executionId}/logs`, { ...EVENTS, "last-event-id": "1" }, two);
  expect([idsOf(rest.text), rest.text.match(/^event: result$/gm)]).toEqual([[2, 3, 4], ["event: result"]]);
  for (const service of [two, api()]) {
    const all = await look(plain, `${executionId}/logs`, EVENTS, service);
    expect(idsOf(all.text)).toEqual([1, 2, 3, 4]);
    expect(linesOf((await look(plain, `${executionId}/logs`, {}, service)).text)).toEqual([
      "stdout begun",
      "system Attempt 2 begins. Attempt 1: The service was stopped while it ran.",
      "stdout begun",
      "stdout ended",
    ]);
  }
  expect((await end(plain, executionId)).body).toMatchObject({ status: "success" });
  // Both hosts have been started without networks, and run what needs none.
  const answer = await refused(networked);
  expect([answer.status, answer.body.error]).toEqual([503, "Service busy"]);
  expect(answer.body.message).toMatch(/^No worker can run it\. .* needs a network .* \(TREADLE_NETWORK_SLOTS=0\)/);
});

test("executions whose outputs are lost with their host run again where `retry` allows it, else end uncharged, and those that are cancelled first of all", async () => {
  const before = await findMoney();
  await hosts.two.cut();
  const [again, once, cancelled] = [await begin(retried), await begin(plain), await begin(plain)] as const;
  await Promise.all([again, once, cancelled].map(programOf));
  const two = running.two as TestService;
  const tree = await listTree(two.child.pid as number);
  await two.stop("SIGKILL");
  delete running.two;
  const headers = keyOf(plain);
  expect((await api().call(`/run-logs/${cancelled}/cancel`, { method: "POST", headers })).status).toBe(202);
  while ((await Promise.all(tree.map(isAlive))).some(Boolean)) await sleep(50);
  const away = join(dirname(hosts.two.dataDir), "away");
  await rename(hosts.two.dataDir, away);
  running.one = await hosts.one.start();

  expect((await end(plain, cancelled)).body).toMatchObject({ status: "cancelled", cost: { total: 0 } });
  const ended = await end(plain, once);
  const order = await queryRows(cluster.db, "select id from executions where id = any(:ids) order by finished_at", {
    ids: [once, cancelled],
  });
  expect(order).toEqual([{ id: cancelled }, { id: once }]);
  expect(ended.body).toMatchObject({ status: "failed", cost: { total: 0 } });
  expect(ended.body.message).toMatch(/host .* is gone .* Nothing was charged/);
  const record = await end(retried, again);
  expect(record.body).toMatchObject({ status: "success" });
  expect(await findAttempts(again)).toEqual([
    { status: null, message: "Its host was lost with the outputs.", lost: true },
    { status: "success", message: "", lost: false },
  ]);
  const log = (await look(retried, `${again}/logs`)).text;
  expect(linesOf(log)[0]).toBe("system Attempt 2 begins. Attempt 1: Its host was lost with the outputs.");
  const readStamp = async () => (await look(retried, `${again}/files/stamp.txt`)).text;
  const stamp = await readStamp();
  const after = await findMoney();
  const { total } = record.body.cost as { total: number };
  expect([Number(before.balance - after.balance) / 1_000_000, after.reserved]).toEqual([total, 0n]);

  // The host comes back with what it had.
  await rename(away, hosts.two.dataDir);
  await hosts.two.mend();
  running.two = await hosts.two.start({ TREADLE_LANES_MAX: "4" });
  while ((await readdir(join(hosts.two.dataDir, "spool"))).length > 0) await sleep(100);
  expect((await look(retried, again)).body).toEqual(record.body);
  expect(await readStamp()).toEqual(stamp);
  const whole = linesOf((await look(retried, `${again}/logs`)).text);
  expect(whole).toEqual(["stdout begun", "stdout ended", ...linesOf(log)]);
  expect((await look(plain, once)).body).toEqual(ended.body);
  expect(linesOf((await look(plain, `${once}/logs`)).text)).toEqual(["stdout begun", "stdout ended"]);
  expect([await findMoney(), await findMoneyFaults(cluster.db)]).toEqual([after, []]);
});

test("a host has lanes for what ran lately when it starts, and for what any process publishes after that, with packages that were built once", async () => {
  const { ready, call } = running.two as TestService;
  const countLanes = async () =>
    Number(/^treadle_lanes (\d+)$/m.exec((await call(`${ready.url}/metrics`, { method: "GET" })).text)?.[1]);
  while ((await countLanes()) < 2) await sleep(100);
  await publish(config("retry: { max_attempts: 3 }\n"), { "requirements.txt": "hello==1.0\n" });
  while ((await countLanes()) < 3) await sleep(100);
  const environments = join(hosts.two.dataDir, "environments");
  const [log = ""] = (await readdir(environments)).filter((name) => name.endsWith(".log"));
  expect(await readFile(join(environments, log), "utf8")).toContain("Unpacking what another host has built…");
  const listed = (await treadle(hosts.api.dataDir, ["hosts", "--json"])).json() as unknown as { hosts: object[] };
  expect(listed.hosts).toHaveLength(3);
  expect(listed.hosts).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ role: "api", present: true, programs: null }),
      expect.objectContaining({ role: "all", programs: expect.objectContaining({ slots: 4, waiting: 0 }) }),
    ]),
  );
});

test("processes behind a pooler of transactions share its sessions, and each has one of its own that listens", async () => {
  const sessions = await queryRows<{ name: string; count: bigint }>(
    cluster.db,
    "select application_name as name, count(*) from pg_stat_activity where datname = current_database() group by 1",
  );
  const count = (name: string) => Number(sessions.find((each) => each.name === name)?.count);
  expect(count("treadle listener")).toBe(3);
  expect(count("treadle")).toBeLessThanOrEqual(POOLER_SESSIONS);
  expect(await cluster.pooler.countTransactions()).toBeGreaterThan(100);
});

test("runs that need what one host lacks all begin on the other, also those that wait for it and whose workflows the first drives", async () => {
  await running.one?.stop();
  running.one = await hosts.one.start({ TREADLE_NETWORK_SLOTS: "0" });
  while ((await execute(sleeping)).status !== 202) await sleep(200); // Until it is known what the other host has.
  const ids = await Promise.all(Array.from({ length: 8 }, () => begin(sleeping)));
  const ends = await Promise.all(ids.map((id) => end(sleeping, id)));
  expect(ends.map(({ body }) => body.status)).toEqual(ids.map(() => "success"));
  const attempts = await Promise.all(ids.map(findAttempts));
  expect(attempts.flat()).toEqual(ids.map(() => ({ status: "success", message: "", lost: false })));
});

test("a call, while Temporal is away, is carried out by a worker and answered by a process that runs nothing", async () => {
  await cluster.stopTemporal();
  const answer = await api().call(`/workflows/${plain.workflowId}/execute`, {
    method: "POST",
    headers: { ...keyOf(plain), "content-type": "application/json" },
    body: "{}",
  });
  expect([answer.status, answer.body.status]).toEqual([200, "success"]);
});
