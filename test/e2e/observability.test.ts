import { execFile } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { chmod, mkdtemp, readFile, rm } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { getPriority, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { connect } from "node:tls";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { aFolder, treadle } from "../support/command-line.ts";
import { readAlerts, readDashboard } from "../support/observability.ts";
import { listGroupings, listSelectors, readSamples, type Selector } from "../support/promql.ts";
import { aDataDir, isAlive, listTree, startService, type TestService } from "../support/service.ts";

/** What Prometheus adds to every sample. */
const ADDED = ["instance", "job"];
const OUTSIDE = "up";

/** Versions of Node.js that the service is to run on beside the one that the tests run on. */
const NODES = ["22", "24"];

let service: TestService;
let nodes: Promise<string>;
let dataDir: Awaited<ReturnType<typeof aDataDir>>;
let samples: ReturnType<typeof readSamples>;
let text = "";

beforeAll(async () => {
  nodes = installNodes();
  nodes.catch(() => undefined); // Those who need them are told.
  dataDir = await aDataDir();
  service = await startService({ dataDir: dataDir.dataDir, env: { TREADLE_METRICS_PORT: "0" }, byNpm: true });
  await service.execute("hello", { name: "Ada" });
  await callFailing();
  const answer = await service.call(`${service.ready.url}/metrics`);
  text = answer.text;
  samples = readSamples(text);
}, 600_000);

afterAll(async () => {
  await service?.stop();
  await dataDir?.remove();
  await rm(await nodes, { recursive: true, force: true });
});

/** Installs each of `NODES` from npm, and answers the folder. */
async function installNodes(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "treadle-nodes-"));
  await chmod(folder, 0o755); // The service's user is to execute them.
  const kind = `node-${process.platform}-${process.arch}`;
  const packages = NODES.map((version) => `node${version}@npm:${kind}@${version}`);
  await promisify(execFile)("npm", ["install", "--prefix", folder, ...packages]);
  return folder;
}

/** The certificate that a new connection gets. */
async function findServed(): Promise<string> {
  const { hostname, port } = new URL(service.ready.url);
  const socket = connect({ host: hostname, port: Number(port), ca: readFileSync(service.ready.caFile) });
  await once(socket, "secureConnect");
  const { fingerprint256 } = socket.getPeerCertificate();
  socket.destroy();
  return fingerprint256;
}

/** The priorities of the event loop, and of the thread that Node.js started first, which is one of V8's. */
function findPriorities(pid: number): number[] {
  const ids = readdirSync(`/proc/${pid}/task`).map(Number);
  // In the order in which they began: ids go round.
  const idMax = Number(readFileSync("/proc/sys/kernel/pid_max", "utf8"));
  const placeOf = (id: number): number => (id - pid + idMax) % idMax;
  return ids
    .sort((a, b) => placeOf(a) - placeOf(b))
    .slice(0, 2)
    .map(getPriority);
}

const PRIORITIES = [getPriority(), Math.max(10, getPriority())];

test("SIGHUP, to a running service, makes it serve what its certificate's files have, and stops nothing", async () => {
  const before = await findServed();
  rmSync(join(dataDir.dataDir, "tls/cert.pem"));
  process.kill(service.ready.pid, "SIGHUP");
  let served = before;
  while (served === before) {
    await sleep(50);
    served = await findServed();
  }
  expect((await service.execute("hello", { name: "Ada" })).status).toBe(200);
  expect(service.output()).toContain("certificate.replaced");
});

function readOperating(): string {
  return readFileSync(new URL("../../docs/operating.md", import.meta.url), "utf8");
}

/** One of each class of status, on the route of execute and on others. */
async function callFailing(): Promise<void> {
  const folder = await aFolder({
    "config.yaml": "triggers:\n  api: { enabled: true }\n",
    "main.py": "raise SystemExit(3)\n",
  });
  const published = (await treadle(dataDir.dataDir, ["publish", folder, "--json"])).json() as Record<string, string>;
  const answer = await service.call(`/workflows/${published["workflowId"]}/execute`, {
    method: "POST",
    headers: { "x-api-key": published["apiKey"] as string, "content-type": "application/json" },
    body: "{}",
  });
  expect(answer.status).toBe(500);
  const logs = await service.call(`/run-logs/${String(answer.body["executionId"])}/logs`, {
    method: "GET",
    headers: { "x-api-key": published["apiKey"] as string },
  });
  expect(logs.status).toBe(200);
}

/** Whether what a selector demands is ever so: each label is one of the metric's, each value that it names is there. */
function findProblems({ name, matchers }: Selector): string[] {
  if (name === OUTSIDE) return [];
  const found = samples.get(name);
  if (found === undefined) return [`${name} is not told`];
  return matchers.flatMap(({ label, operator, value }) => {
    if (ADDED.includes(label) || value.includes("$")) return [];
    const values = new Set(found.map((labels) => labels[label]));
    if (values.has(undefined)) return [`${name} has no label ${label}`];
    const wanted = operator.endsWith("~") ? value.split("|") : [value];
    return wanted.filter((each) => !values.has(each)).map((each) => `${name} has no ${label}="${each}"`);
  });
}

function findUnknownLabels(expression: string): string[] {
  const known = new Set([
    ...ADDED,
    ...listSelectors(expression).flatMap(({ name }) =>
      (samples.get(name) ?? []).flatMap((labels) => Object.keys(labels)),
    ),
  ]);
  return listGroupings(expression).filter((label) => !known.has(label));
}

const expressions = [
  ...readAlerts().map(({ alert, expr }) => [`alert ${alert}`, expr, ""] as const),
  ...readDashboard().panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ refId, expr, legendFormat }) => [`panel ${title} ${refId}`, expr, legendFormat] as const),
  ),
];

test.each(expressions)(
  "%s, asked of a service, names metrics, labels and values that it tells",
  (_what, expression, legend) => {
    const selectors = listSelectors(expression);
    expect(selectors.length).toBeGreaterThan(0);
    expect(selectors.flatMap(findProblems)).toEqual([]);
    expect(findUnknownLabels(expression)).toEqual([]);
    // A legend shows what is left after grouping, or what every sample has.
    const shown = [...legend.matchAll(/\{\{(\w+)\}\}/g)].map(([, label = ""]) => label);
    const left = listGroupings(expression);
    expect(shown.filter((label) => !left.includes(label) && !ADDED.includes(label))).toEqual([]);
  },
);

test("figures and readiness, on the port that is for them alone, are those of the service, by plain HTTP", async () => {
  const line =
    service
      .output()
      .split("\n")
      .find((each) => each.includes('"metrics.listening"')) ?? "{}";
  const { port } = JSON.parse(line) as { port: number };
  const ask = async (path: string, method = "GET") => {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, { method });
    return { status: answer.status, text: await answer.text() };
  };
  const { status, text: told } = await ask("/metrics");
  // The runtime's own are told only while there is something to tell.
  const ours = (names: Iterable<string>) =>
    [...names].filter((name) => !/^treadle_(process|nodejs)_/.test(name)).toSorted();
  expect([status, ours(readSamples(told).keys())]).toEqual([200, ours(samples.keys())]);
  expect(JSON.parse((await ask("/readyz")).text)).toMatchObject({ ready: true, checks: { database: { ok: true } } });
  const others = [await ask("/healthz"), await ask("/api/session"), await ask("/metrics", "POST")];
  expect(others.map((each) => each.status)).toEqual([200, 404, 405]);
});

test("docs/operating.md, in its table of metrics, has those of ours that a service tells, with their labels, and no other", () => {
  const rows = [...readOperating().matchAll(/^\| (`treadle_[^|]*) \| (?:process|record|listener) \| ([^|]*)\|/gm)];
  const codes = (cell = ""): string[] => [...cell.matchAll(/`(\w+)`/g)].map(([, code = ""]) => code);
  const documented = rows.flatMap(([, names, labels]) => codes(names).map((name) => [name, codes(labels).toSorted()]));
  const told = [...text.matchAll(/^# TYPE (\w+) (\w+)$/gm)]
    .map(
      ([, name = "", type]) => [name, samples.get(type === "histogram" ? `${name}_count` : name)?.[0] ?? {}] as const,
    )
    .filter(([name]) => !/^treadle_(process|nodejs)_/.test(name))
    .map(([name, labels]) => [name, Object.keys(labels).toSorted()]);
  const byName = (list: readonly (readonly unknown[])[]) =>
    list.toSorted((a, b) => String(a[0]).localeCompare(String(b[0])));
  expect(byName(documented)).toEqual(byName(told));
});

test("the figures, of a service, hold no id of an execution, a workflow or an account, and no key", () => {
  expect(text).not.toMatch(/\b(ex|wf|acct|proc)_[0-9a-z]{10,}|trd_/);
});

test("the figures, after one success and one failure, count them by trigger and status, and what was charged", () => {
  const count = (status: string): string =>
    new RegExp(`^treadle_executions_ended_total\\{trigger="api",status="${status}"\\} (\\d+)$`, "m").exec(text)?.[1] ??
    "";
  expect([count("success"), count("failed")]).toEqual(["1", "1"]);
  const settled = Number(/^treadle_credits_settled_total (\S+)$/m.exec(text)?.[1]);
  expect(settled).toBeGreaterThan(0.002);
  const programs = [...text.matchAll(/^treadle_program_seconds_count\{path="\w+"\} (\d+)$/gm)].map(([, each]) =>
    Number(each),
  );
  expect(programs.reduce((sum, each) => sum + each, 0)).toBe(2);
});

test("what a service prints, where that is no terminal, has no password and no key, and a call that works when pasted", async () => {
  const { signIn, workflows } = service.ready;
  const secrets = [signIn?.password, workflows["hello"]?.apiKey] as [string, string];
  expect(secrets).toEqual([expect.stringMatching(/^[\w-]{20}$/), expect.stringMatching(/^trd_/)]);
  for (const secret of secrets) expect(service.output()).not.toContain(secret);
  const call = /^ +(curl [^]*?'\{.*\}')$/m.exec(service.output())?.[1] as string;
  const { stdout } = await promisify(execFile)("/bin/sh", ["-c", call], { cwd: tmpdir() });
  expect(JSON.parse(stdout)).toMatchObject({ status: "success" });
});

/** The command lines of those that are still there. The kernel may take a moment to end the processes of a sandbox. */
async function nameLeft(tree: readonly number[]): Promise<string[]> {
  for (let look = 0; ; look += 1) {
    const alive = await Promise.all(tree.map(isAlive));
    const left = tree.filter((_, index) => alive[index]);
    if (left.length === 0) return [];
    if (look === 30)
      return Promise.all(left.map((pid) => readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => `${pid} just ended`)));
    await sleep(100);
  }
}

test("a service that npm has started ends with all that is its own when npm alone is asked to", async () => {
  expect(findPriorities(service.ready.pid)).toEqual(PRIORITIES);
  const tree = await listTree(service.child.pid as number);
  expect(tree.length).toBeGreaterThan(3);
  await service.stop("SIGTERM");
  expect(await nameLeft(tree)).toEqual([]);
  expect(service.output()).toContain('"service.stopped"');
});

test("a service with another master key than the installation's does not start, and says which file to mend", async () => {
  const path = join(dataDir.dataDir, "keys/master");
  const right = readFileSync(path);
  writeFileSync(path, Buffer.alloc(32, 1));
  const starting = startService({ dataDir: dataDir.dataDir });
  await expect(starting).rejects.toThrow(`${path} is not the master key of this installation`);
  writeFileSync(path, right);
});

test("a service whose database is named by a file starts on that one alone, and shows nothing of the file", async () => {
  const noDatabase = createServer((socket) => socket.destroy()).listen(0, "127.0.0.1");
  await once(noDatabase, "listening");
  const host = `127.0.0.1:${(noDatabase.address() as AddressInfo).port}`;
  const path = join(dataDir.dataDir, "database-url");
  writeFileSync(path, `postgresql://treadle:hush-hush@${host}/treadle\n`);
  const starting = startService({ dataDir: dataDir.dataDir, env: { DATABASE_URL_FILE: path } });
  const { message } = await starting.then(
    () => new Error("It has started."),
    (error: Error) => error,
  );
  noDatabase.close();
  expect(message).toContain(`Cannot use the database of DATABASE_URL (${host})`);
  expect(message).not.toContain("hush");
});

test.each(NODES)("a service on Node.js %s goes on with the installation, and executes", async (version) => {
  const node = join(await nodes, `node_modules/node${version}/bin/node`);
  service = await startService({ dataDir: dataDir.dataDir, node, env: { TREADLE_METRICS_PORT: "0" } });
  expect(service.output()).toContain('"service.ready"');
  expect(service.output()).not.toMatch(/Building|"level":[56]0/);
  const answer = await service.execute("hello", { name: "Ada" });
  expect([answer.status, answer.body["status"]]).toEqual([200, "success"]);
  const { text: figures } = await service.call(`${service.ready.url}/metrics`);
  expect(figures).toMatch(new RegExp(`^treadle_build_info\\{.*node="${version}\\.`, "m"));
  expect(findPriorities(service.ready.pid)).toEqual(PRIORITIES);
  await service.stop();
});
