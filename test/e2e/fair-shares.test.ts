import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { STATUSES } from "../../domain/api/executions.ts";
import { aFolder, treadle } from "../support/command-line.ts";
import { type Answer, aDataDir, startService, type TestService } from "../support/service.ts";

/** One slot, so that a queue forms at once, and other ceilings than those that hold by themselves. */
const ENV = {
  TREADLE_SANDBOX_SLOTS: "1",
  TREADLE_EXAMPLES: "none",
  TREADLE_RATE_LIMIT_PER_MINUTE: "0",
  TREADLE_TIMEOUT_SECONDS_MAX: "86400",
  TREADLE_CPU_MAX: "2",
  TREADLE_SCRATCH_BYTES_MAX: String(2 ** 40),
};
const SLEEPERS = 40;
const SLEEP_SECONDS = 5;
const LOOK_EVERY_MS = 300;

let service: TestService;
let dataDir: Awaited<ReturnType<typeof aDataDir>>;

interface Workflow {
  readonly workflowId: string;
  readonly apiKey: string;
}

beforeAll(async () => {
  dataDir = await aDataDir();
  service = await startService({ dataDir: dataDir.dataDir, env: ENV });
}, 600_000);

afterAll(async () => {
  await service?.stop();
  await dataDir?.remove();
});

async function publish(account: string): Promise<Workflow> {
  await treadle(dataDir.dataDir, ["accounts", "create", account, "--credits", "1000", "--json"]);
  const files = {
    "config.yaml": "inputs:\n  seconds: { type: number }\ntriggers:\n  api: { enabled: true }\n",
    "main.py": "import time\ndef main(seconds):\n    time.sleep(seconds)\n    return {'slept': seconds}\n",
  };
  const published = await treadle(dataDir.dataDir, ["publish", await aFolder(files), "--account", account, "--json"]);
  expect([published.code, published.stderr]).toEqual([0, expect.any(String)]);
  return published.json() as unknown as Workflow;
}

function execute({ workflowId, apiKey }: Workflow, seconds: number, prefer?: string): Promise<Answer> {
  return service.call(`/workflows/${workflowId}/execute`, {
    method: "POST",
    headers: { "x-api-key": apiKey, "content-type": "application/json", ...(prefer === undefined ? {} : { prefer }) },
    body: JSON.stringify({ seconds }),
  });
}

/** Begins as many at once, and answers their ids. */
async function begin(workflow: Workflow, count: number, seconds: number): Promise<string[]> {
  const answers = await Promise.all(Array.from({ length: count }, () => execute(workflow, seconds, "respond-async")));
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 202));
  return answers.map(({ body }) => String(body.executionId));
}

async function lookAt({ apiKey }: Workflow, executionId: string): Promise<string> {
  const { body } = await service.call(`/run-logs/${executionId}`, { headers: { "x-api-key": apiKey } });
  return String(body.status);
}

/** How many runs of an account have each status. One call for all of them: what asks again and again takes the runs' own time. */
async function countRuns(account: string): Promise<Record<(typeof STATUSES)[number], number>> {
  const token = (await readFile(join(dataDir.dataDir, "keys/operator-token"), "utf8")).trim();
  const headers = { authorization: `Bearer ${token}` };
  const { body } = await service.call(`/executions?account=${account}&limit=100`, { headers });
  const found = body.executions as readonly { status: string }[];
  const count = (status: string): number => found.filter((each) => each.status === status).length;
  return Object.fromEntries(STATUSES.map((status) => [status, count(status)])) as Record<
    (typeof STATUSES)[number],
    number
  >;
}

/** What the operator sees of an execution. */
async function slotPositionOf(executionId: string, account: string): Promise<unknown> {
  const shown = await treadle(dataDir.dataDir, ["executions", "record", executionId, "--account", account, "--json"]);
  return (shown.json() as { slotPosition: unknown }).slotPosition;
}

test("a service with ceilings of its own runs what they allow, with an hour of credits held, and refuses more at its line", async () => {
  const main =
    "import os\ndef main(seconds):\n    assert os.statvfs('/tmp').f_blocks * os.statvfs('/tmp').f_frsize == 2**29\n";
  const configOf = (limits: string) =>
    `inputs:\n  seconds: { type: number }\ntriggers:\n  api: { enabled: true }\nlimits: ${limits}\n`;
  const publishWith = async (limits: string) =>
    treadle(
      dataDir.dataDir,
      [
        ["publish", await aFolder({ "config.yaml": configOf(limits), "main.py": main })],
        ["--account", "day", "--new", "--json"],
      ].flat(),
    );
  await treadle(dataDir.dataDir, ["accounts", "create", "day", "--credits", "100", "--json"]);
  const refused = await publishWith("{ cpu: 2.5 }");
  expect([refused.code, refused.stderr + refused.stdout]).toEqual([
    1,
    expect.stringContaining("limits.cpu: must be from 0.1 to 2. The operator can allow more with TREADLE_CPU_MAX."),
  ]);
  const published = await publishWith("{ timeout: 1d, memory: 1GiB, cpu: 2, scratch: 512MiB }");
  const workflow = published.json() as unknown as Workflow;
  const ran = await execute(workflow, 0);
  expect(ran).toMatchObject({ status: 200, body: { status: "success" } });
  const shown = await treadle(dataDir.dataDir, [
    "executions",
    "record",
    String(ran.body.executionId),
    "--account",
    "day",
    "--json",
  ]);
  expect(shown.json()).toMatchObject({ cost: { atMost: 72.001 }, limits: { timeoutSeconds: 86_400, cpu: 2 } });
});

test("a program has scratch folders on disk that are larger than its memory; what the host's disk has no room for gets 503", async () => {
  await treadle(dataDir.dataDir, ["accounts", "create", "scratch", "--credits", "100", "--json"]);
  const publishWith = async (scratch: string, network = false) => {
    const files = {
      "config.yaml": `inputs:\n  seconds: { type: number }\ntriggers:\n  api: { enabled: true }\nlimits: { memory: 64MiB, scratch: ${scratch}, network: ${network} }\n`,
      "main.py": `
import os
def main(seconds):
    assert os.listdir('/tmp') == []
    with open('/tmp/large', 'wb', 0) as file:
        for _ in range(300): file.write(b'x' * 2**20)
    assert os.path.getsize('/tmp/large') == 300 * 2**20
`,
    };
    const args = ["publish", await aFolder(files), "--account", "scratch", "--new", "--json"];
    return treadle(dataDir.dataDir, args);
  };
  const published = await publishWith("400MiB");
  if (process.getuid?.() !== 0)
    return expect(published.stdout + published.stderr).toContain("limits.scratch: must be at most limits.memory");
  const withNetwork = await publishWith("400MiB", true);
  for (const one of [published, published, withNetwork])
    expect(await execute(one.json() as unknown as Workflow, 0)).toMatchObject({
      status: 200,
      body: { status: "success" },
    });
  const tooLarge = (await publishWith("1TiB")).json() as unknown as Workflow;
  const refused = await execute(tooLarge, 0);
  expect([refused.status, refused.text]).toEqual([
    503,
    expect.stringMatching(/limits\.scratch.*room for .* of scratch files.*may write 1 TiB/),
  ]);
}, 600_000);

test("a stranger's short run ends within one turn of 40 sleepers, which are queued, show their place, and can be cancelled without a warning in the log", async () => {
  const [busy, stranger] = [await publish("busy"), await publish("stranger")];
  await execute(stranger, 0);
  const ids = await begin(busy, SLEEPERS, SLEEP_SECONDS);
  while ((await countRuns("busy")).running === 0) await sleep(LOOK_EVERY_MS);
  const startedAt = performance.now();
  expect((await execute(stranger, 0)).status).toBe(200);
  expect((performance.now() - startedAt) / 1000).toBeLessThan(SLEEP_SECONDS);
  const { running, queued } = await countRuns("busy");
  expect(running).toBe(1);
  expect(queued).toBeGreaterThan(SLEEPERS / 2);
  const waiting = [];
  for (const id of ids) if ((await lookAt(busy, id)) === "queued") waiting.push(id);
  expect(await slotPositionOf(waiting.at(-1) as string, "busy")).toEqual(expect.any(Number));
  const printed = service.output().length;
  for (const id of ids)
    await service.call(`/run-logs/${id}/cancel`, { method: "POST", headers: { "x-api-key": busy.apiKey } });
  let left = await countRuns("busy");
  for (; left.running + left.queued > 0; left = await countRuns("busy")) await sleep(LOOK_EVERY_MS);
  expect(left.cancelled).toBeGreaterThan(SLEEPERS / 2);
  expect(service.output().slice(printed)).not.toMatch(/"level":[456]0/);
}, 600_000);

test("30 queued runs, whose service is killed three times, all succeed, but one that ran at each of the kills", async () => {
  const account = "queued";
  const workflow = await publish(account);
  const ids = await begin(workflow, 30, 0.5);
  for (let kill = 0; kill < 3; kill += 1) {
    let counts = await countRuns(account);
    for (; counts.running === 0 && counts.queued > 0; counts = await countRuns(account)) await sleep(LOOK_EVERY_MS);
    expect(counts.queued).toBeGreaterThan(0);
    await service.stop("SIGKILL");
    service = await startService({ dataDir: dataDir.dataDir, env: ENV });
  }
  for (let ended = 0; ended < ids.length; await sleep(LOOK_EVERY_MS)) {
    const { success, failed } = await countRuns(account);
    ended = success + failed;
  }
  for (const id of ids) {
    if ((await lookAt(workflow, id)) === "success") continue;
    const shown = await treadle(dataDir.dataDir, ["executions", "record", id, "--account", account, "--json"]);
    const { attempts } = shown.json() as unknown as { attempts: { endedAt: string | null; status: string | null }[] };
    expect(attempts.map(({ endedAt, status }) => endedAt !== null && status === null)).toEqual([true, true, true]);
  }
}, 900_000);
