// A service that root started, and that goes on as an ordinary user's: as in a container without privileges.
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { runCommand } from "../../src/setup/servers/command.ts";
import { findServiceUser } from "../../src/setup/user.ts";
import { aFolder, treadle } from "../support/command-line.ts";
import { type Answer, aDataDir, startService, type TestService } from "../support/service.ts";

const IS_ROOT = process.getuid?.() === 0;
const ENV = { TREADLE_EXAMPLES: "none", TREADLE_SCRATCH_BYTES_MAX: String(512 * 1024 * 1024) };
const CONFIG = "triggers:\n  api: { enabled: true }\nlimits: { memory: 64MiB, scratch: 400MiB }\n";
const MODEST = CONFIG.replace("64MiB", "400MiB");
const MAIN = "import os\n\n\ndef main():\n    print(os.getuid())\n";
const LACK = "There are no disks for programs: the service is not started as root.";
const NEED = "They need a service that is started as root, e2fsprogs and loop devices.";

let data: Awaited<ReturnType<typeof aDataDir>>;
let service: TestService;
interface Workflow {
  readonly workflowId: string;
  readonly apiKey: string;
}

/** Published while there were disks; none of that where the tests run as an ordinary user themselves. */
let earlier: Workflow | undefined;
/** Has run before the restart, with folders in memory. */
let modest: Workflow;

beforeAll(async () => {
  data = await aDataDir();
  service = await startService({ dataDir: data.dataDir, env: ENV });
  if (IS_ROOT) earlier = await publish(CONFIG);
  modest = await publish(MODEST);
  await publish(MODEST); // It never runs.
  for (const one of [earlier, modest]) if (one !== undefined) await run(one);
  await service.stop();
  service = await startService({ dataDir: data.dataDir, env: ENV, ...(await findOrdinaryUser()) });
}, 600_000);

afterAll(async () => {
  await service?.stop();
  await data?.remove();
});

/** How to start as the user to whom root has handed the data folder, with the Temporal that root has put there. */
async function findOrdinaryUser() {
  if (!IS_ROOT) return {};
  const user = await findServiceUser(runCommand);
  const ids = [`--reuid=${user?.uid}`, `--regid=${user?.gid}`, "--clear-groups"];
  const home = join(data.dataDir, "runtime");
  const temporal = (await readdir(home)).find((name) => name.startsWith("temporal-"));
  const variables = [`HOME=${home}`, ...(temporal === undefined ? [] : [`TEMPORAL_CLI_PATH=${join(home, temporal)}`])];
  return { within: ["/usr/bin/setpriv", ...ids, "env", ...variables] };
}

const ask = (...args: readonly string[]) => treadle(data.dataDir, [...args, "--json"]);

async function publish(config: string): Promise<Workflow> {
  const published = await ask("publish", await aFolder({ "config.yaml": config, "main.py": MAIN }), "--new");
  expect([published.code, published.stderr]).toEqual([0, expect.any(String)]);
  return published.json() as unknown as Workflow;
}

function call({ workflowId, apiKey }: Workflow): Promise<Answer> {
  return service.call(`/workflows/${workflowId}/execute`, {
    method: "POST",
    headers: { "x-api-key": apiKey, "content-type": "application/json" },
    body: "{}",
  });
}

async function run(workflow: Workflow): Promise<void> {
  expect(await call(workflow)).toMatchObject({ status: 200, body: { status: "success" } });
}

/** What the service tells of its programs and lanes. */
async function readFigures(): Promise<Record<"lanes" | "served", number>> {
  const { text } = await service.call(`${service.ready.url}/metrics`);
  const read = (name: string) =>
    Number(
      text
        .split("\n")
        .find((line) => line.startsWith(`${name} `))
        ?.split(" ")[1],
    );
  return { lanes: read("treadle_lanes"), served: read('treadle_programs_total{path="lane"}') };
}

test("a service that starts, warms what ran in the last hour and nothing else, before anybody calls", async () => {
  for (const deadline = Date.now() + 120_000; (await readFigures()).lanes === 0 && Date.now() < deadline; )
    await sleep(100);
  expect(await readFigures()).toEqual({ lanes: 1, served: 0 });
  await run(modest);
  expect((await readFigures()).served).toBe(1);
});

test("publish, of more scratch than memory, is refused at its line, with what is missing and what it needs", async () => {
  const folder = await aFolder({ "config.yaml": CONFIG, "main.py": MAIN });
  const refused = await treadle(data.dataDir, ["publish", folder]);
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("config.yaml:3:35 limits.scratch: ")]);
  expect(refused.stderr).toContain(
    `must be at most limits.memory (64 MiB): this installation has no disks for more. ${LACK} ${NEED}`,
  );
  await publish(MODEST);
});

test("readyz, doctor and the list of hosts, of a service without disks, name scratch folders and what they need", async () => {
  const { body, status } = await service.call(`${service.ready.url}/readyz`);
  const { outputs } = body["checks"] as Record<string, { ok: boolean; message: string }>;
  expect([status, outputs?.ok]).toEqual([200, true]);
  const told = [outputs?.message, (await treadle(data.dataDir, ["doctor"])).stdout.replaceAll(/\s+/g, " ")];
  for (const text of told) {
    expect(text).toContain("because the service is not started as root");
    expect(text).toContain(NEED);
    expect(text).toContain("no workflow may have more in limits.scratch than in limits.memory");
  }
  const hosts = (await ask("hosts")).stdout;
  expect(hosts).toContain(`${LACK} ${NEED}`);
});

test("a call, of a commit that was published while there were disks, gets 503; it costs nothing and makes no run", async () => {
  if (earlier === undefined) return expect(IS_ROOT).toBe(false);
  const look = async () => [(await ask("credits", "show")).json(), (await ask("executions", "list")).json()];
  const before = await look();
  const refused = await call(earlier);
  expect([refused.status, refused.headers["retry-after"], refused.text]).toEqual([
    503,
    "30",
    expect.stringContaining("(limits.scratch), and this host has none for it: "),
  ]);
  expect(refused.body).toMatchObject({
    message: expect.stringContaining(`${LACK} ${NEED} Nothing was started or charged`),
  });
  expect(await look()).toEqual(before);
});
