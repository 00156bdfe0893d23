import { spawn } from "node:child_process";
import { readFile, rm } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { type Disk, openDisk } from "../../chaos/disk.ts";
import { aFolder, treadle } from "../support/command-line.ts";
import { type Answer, aDataDir, isAlive, listTree, startService, type TestService } from "../support/service.ts";

const HEALTH_WATCH = fileURLToPath(new URL("health-watch.mjs", import.meta.url));
/** Executions of the neighbour before anything happens: the figure that all others are compared with. */
const ALONE = 15;
const CANCELLED_MS_MAX = 60_000;
const LOOK_EVERY_MS = 200;
/** After a start: so many in a row, within this time. */
const QUICK_IN_A_ROW = 5;
const QUICK_AGAIN_MS_MAX = 60_000;
/** When an attack is at work. */
const PUBLISH_AFTER_MS = 1_500;
/** Small, so that a disk can be filled within seconds. */
const OUTPUT_BYTES_MAX = 64 * 1024 * 1024;
const HELLO = {
  "config.yaml": "name: Hello\ninputs:\n  name: { type: string, default: you }\ntriggers:\n  api: { enabled: true }\n",
  "main.py": "def main(name):\n    return {'greeting': f'Hello, {name}!'}\n",
};

export interface Workflow {
  readonly workflowId: string;
  readonly apiKey: string;
}

/** What the neighbour and the operator saw during an attack. */
export interface Seen {
  /** Milliseconds that each hello of the neighbour took, from call to answer. */
  readonly helloMs: readonly number[];
  /** Statuses of its answers. */
  readonly statuses: readonly number[];
  /** Milliseconds that the neighbour's publish of a new workflow took, and its first execution. */
  readonly publishMs: number;
  /** Milliseconds that each look at `/healthz` took; -1 for one without an answer. */
  readonly healthMs: readonly number[];
  /** The same of a server that does nothing else, at the same time: how busy the machine was. */
  readonly controlMs: readonly number[];
  /** Processes of the service itself that ended meanwhile: its Node.js process, PostgreSQL, Temporal. */
  readonly ended: readonly string[];
}

/** A service with two accounts: the neighbour, who says hello, and the tenant who does the worst. */
export interface Neighbourhood {
  readonly dataDir: string;
  service(): TestService;
  /** The neighbour's median alone, in milliseconds. */
  readonly aloneMs: number;
  /** Publishes a folder of the bad tenant's. */
  publish(files: Readonly<Record<string, string>>): Promise<Workflow>;
  /** Starts executions of the bad tenant's and does not wait for their ends. */
  begin(workflow: Workflow, count: number): Promise<Answer[]>;
  /** Cancels what `begin` answered, and waits for its end: the next attack is looked at alone. Throws after a minute. */
  cancel(workflow: Workflow, begun: readonly Answer[]): Promise<void>;
  hello(): Promise<Answer>;
  /** Says hello while `attack` goes on, at least so many times; looks after everything else meanwhile. */
  watch(hellos: number, attack: () => Promise<unknown>): Promise<Seen>;
  /** SIGKILL, and a new start. Answers how long that start took, in milliseconds. */
  killAndStart(): Promise<number>;
  /** Says hello until some in a row take no more than so many milliseconds: after a start, lanes are made anew. Throws after a minute. */
  untilQuick(ms: number): Promise<void>;
  close(): Promise<void>;
}

/** Opens a neighbourhood. As root its data are on a small disk of their own, which can be filled. */
export async function openNeighbourhood(env: Record<string, string> = {}): Promise<Neighbourhood> {
  const folder = await aDataDir();
  const parent = folder.dataDir.replace(/\/data$/, "");
  const disk: Disk = await openDisk(parent);
  const settings = {
    TREADLE_OUTPUT_BYTES_MAX: String(OUTPUT_BYTES_MAX),
    TREADLE_SANDBOX_SLOTS: "4",
    TREADLE_RATE_LIMIT_PER_MINUTE: "6000",
    TREADLE_RATE_LIMIT_BURST: "1000",
    TREADLE_ACCOUNT_RATE_LIMIT_PER_MINUTE: "6000",
    ...env,
  };
  const start = (): Promise<TestService> => startService({ dataDir: disk.dataDir, env: settings });
  let service = await start();

  async function publishFor(account: string, files: Readonly<Record<string, string>>): Promise<Workflow> {
    const from = await aFolder(files);
    const published = await treadle(disk.dataDir, ["publish", from, "--account", account, "--json"]);
    await rm(from, { recursive: true, force: true });
    if (published.code !== 0) throw new Error(published.stdout + published.stderr);
    return published.json() as unknown as Workflow;
  }
  const execute = ({ workflowId, apiKey }: Workflow, headers: Record<string, string> = {}): Promise<Answer> =>
    service.call(`/workflows/${workflowId}/execute`, {
      method: "POST",
      headers: { "x-api-key": apiKey, "content-type": "application/json", ...headers },
      body: "{}",
    });

  for (const name of ["neighbour", "worst"]) {
    const made = await treadle(disk.dataDir, ["accounts", "create", name, "--credits", "100000", "--json"]);
    if (made.code !== 0) throw new Error(made.stdout + made.stderr);
  }
  const hello = await publishFor("neighbour", HELLO);
  const timed = async (): Promise<{ ms: number; status: number }> => {
    const before = performance.now();
    const status = await execute(hello).then(
      (answer) => answer.status,
      () => 0,
    );
    return { ms: performance.now() - before, status };
  };
  const hasEnded = async (id: string, headers: Record<string, string>): Promise<boolean> => {
    const { body } = await service.call(`/run-logs/${id}`, { method: "GET", headers });
    return body.status !== "queued" && body.status !== "running";
  };
  const publishAnother = async (): Promise<number> => {
    await sleep(PUBLISH_AFTER_MS);
    const before = performance.now();
    const another = await publishFor("neighbour", HELLO);
    const { status } = await execute(another);
    if (status !== 200) throw new Error(`A new workflow of the neighbour's answered ${status}.`);
    return performance.now() - before;
  };
  await timed(); // Its lane is made.
  const alone: number[] = [];
  for (let number = 0; number < ALONE; number++) alone.push((await timed()).ms);

  return {
    dataDir: disk.dataDir,
    service: () => service,
    aloneMs: median(alone),
    publish: (files) => publishFor("worst", files),
    begin: (workflow, count) =>
      Promise.all(Array.from({ length: count }, () => execute(workflow, { prefer: "respond-async" }))),
    async cancel({ apiKey }, begun) {
      const headers = { "x-api-key": apiKey };
      const ids = begun.flatMap(({ body }) => (typeof body.executionId === "string" ? [body.executionId] : []));
      await Promise.all(ids.map((id) => service.call(`/run-logs/${id}/cancel`, { method: "POST", headers })));
      const deadline = performance.now() + CANCELLED_MS_MAX;
      for (const id of ids) {
        while (!(await hasEnded(id, headers))) {
          if (performance.now() > deadline) throw new Error(`${id} goes on a minute after it was cancelled.`);
          await sleep(LOOK_EVERY_MS);
        }
      }
    },
    hello: () => execute(hello),
    async watch(hellos, attack) {
      const servers = await listServers(service.child.pid as number);
      const health = watchHealth(service);
      let over = false;
      const attacking = attack().finally(() => (over = true));
      attacking.catch(() => undefined); // It is awaited below.
      const publishing = publishAnother();
      publishing.catch(() => undefined); // It is awaited below.
      const said: { ms: number; status: number }[] = [];
      while (!over || said.length < hellos) said.push(await timed());
      const [attacked, published] = await Promise.allSettled([attacking, publishing]);
      const looks = await health.end();
      if (attacked.status === "rejected") throw attacked.reason;
      if (published.status === "rejected") throw published.reason;
      const alive = await Promise.all(servers.map(async ({ pid }) => isAlive(pid)));
      return {
        helloMs: said.map(({ ms }) => ms),
        statuses: said.map(({ status }) => status),
        publishMs: published.value,
        ...looks,
        ended: servers.filter((_, index) => !alive[index]).map(({ name }) => name),
      };
    },
    async killAndStart() {
      await service.stop("SIGKILL");
      service = await start();
      return service.startMs;
    },
    async untilQuick(ms) {
      const deadline = performance.now() + QUICK_AGAIN_MS_MAX;
      for (let quick = 0; quick < QUICK_IN_A_ROW; ) {
        const said = await timed();
        quick = said.status === 200 && said.ms <= ms ? quick + 1 : 0;
        if (performance.now() > deadline) throw new Error(`A hello takes ${said.ms} ms, a minute after a start.`);
      }
    },
    async close() {
      await service.stop();
      await disk.remove();
      await folder.remove();
    },
  };
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

/** The service's own process, and the servers it has started: what no tenant may end. */
async function listServers(root: number): Promise<{ pid: number; name: string }[]> {
  const found: { pid: number; name: string }[] = [{ pid: root, name: "the service" }];
  for (const pid of await listTree(root)) {
    const command = (await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")).split("\0");
    const program = command[0] ?? "";
    if (/\/temporal[^/]*$/.test(program) && command.includes("start-dev")) found.push({ pid, name: "Temporal" });
    else if (program.endsWith("/postgres")) found.push({ pid, name: "PostgreSQL" });
  }
  return found;
}

type Looks = Pick<Seen, "healthMs" | "controlMs">;

function watchHealth(service: TestService): { end(): Promise<Looks> } {
  const { url, caFile } = service.ready;
  const child = spawn(process.execPath, [HEALTH_WATCH, url, caFile], { stdio: ["pipe", "pipe", "inherit"] });
  let text = "";
  child.stdout.setEncoding("utf8").on("data", (piece: string) => {
    text += piece;
  });
  const ended = new Promise<void>((resolve) => child.once("close", () => resolve()));
  return {
    async end() {
      child.stdin.end();
      await ended;
      const of = (name: string): number[] =>
        [...text.matchAll(new RegExp(`^${name} (-?\\d+)$`, "gm"))].map(([, ms]) => Number(ms));
      return { healthMs: of("service"), controlMs: of("control") };
    },
  };
}
