// The example `warehouse` as a team has it: everything by `bin/treadle`, in a company network of namespaces.
import { spawnSync } from "node:child_process";
import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { z } from "zod";
import type { ExecutionRecord } from "../../domain/api/executions.ts";
import { runCommand } from "../../src/setup/servers/command.ts";
import { aFolder, treadle } from "../support/command-line.ts";
import { aDataDir, startService, type TestService } from "../support/service.ts";
import { aCompanyNetwork, HOOKS, WAREHOUSE } from "./company-network.ts";
import type { Received } from "./receiver.ts";
import { verify } from "./standardwebhooks.ts";

const EXAMPLE = fileURLToPath(new URL("../../examples/warehouse/", import.meta.url));
const PATIENCE_MS = 120_000;
/** Between two commands that ask the same: each takes half a second of a processor. */
const ASK_MS = 1_500;
const DAY_MS = 86_400_000;
/** The one that the first start makes. */
const ACCOUNT = "main";
const [PASSWORD, TOKEN] = ["pass-word/of the warehouse", "token-of-the-paid-api"];

let company: Awaited<ReturnType<typeof aCompanyNetwork>>;
let data: Awaited<ReturnType<typeof aDataDir>>;
let service: TestService;
/** The example, but for the wait between attempts, with the company's own authority beside it. */
let folder: string;
let workflowId: string;
let placeSecret: string;

beforeAll(async () => {
  company = await aCompanyNetwork({ password: PASSWORD, token: TOKEN });
  data = await aDataDir();
  folder = await mkdtemp(join(tmpdir(), "treadle-warehouse-"));
  await cp(EXAMPLE, folder, { recursive: true });
  await editConfig("delay: 5m", "delay: 1s");
  await writeFile(join(folder, "ca.pem"), company.certificate);
  service = await startService({
    dataDir: data.dataDir,
    within: company.enter,
    env: {
      TREADLE_EXECUTION_DAYS: "800",
      PIP_NO_INDEX: "1",
      PIP_FIND_LINKS: await fetchPackages(),
    },
  });
}, 600_000);

afterAll(async () => {
  await service?.stop();
  await company?.close();
  await data?.remove();
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
});

/** The example's packages in a folder: from the namespaces, no index can be reached. */
async function fetchPackages(): Promise<string> {
  const target = join(data.dataDir, "../packages");
  const list = join(EXAMPLE, "requirements.txt");
  const args = ["-m", "pip", "download", "--quiet", "--only-binary", ":all:", "--dest", target, "-r", list];
  const { code, tail } = await runCommand("python3", args, { env: process.env, timeoutMs: PATIENCE_MS });
  expect([code, tail]).toEqual([0, expect.anything()]);
  return target;
}

async function editConfig(before: string, after: string): Promise<void> {
  const path = join(folder, "config.yaml");
  const text = await readFile(path, "utf8");
  expect(text).toContain(before);
  await writeFile(path, text.replace(before, after));
}

const ask = (args: readonly string[], input = "") => treadle(data.dataDir, args, input, company.enter);

async function command(args: readonly string[], input = ""): Promise<Record<string, unknown>> {
  const answer = await ask([...args, "--json"], input);
  expect([args, answer.code, answer.stdout + answer.stderr]).toEqual([args, 0, expect.any(String)]);
  return answer.json();
}

interface Day {
  readonly day: string;
  readonly rates: string;
}

/** What the warehouse has of each day. */
async function readDays(): Promise<Day[]> {
  const columns = "day::text, string_agg(currency || ' ' || rate::text, ', ' order by currency) as rates";
  return (await company.database.query(`select ${columns} from rates group by day order by day`)) as unknown as Day[];
}

const RATES = "GBP 0.86, JPY 163, USD 1.08123456789012345678";

/** The latest past day on which Europe moved its clocks forward: the last Sunday of a March, a week ago or more. */
function findSpringChange(): Date {
  for (let year = new Date().getUTCFullYear(); ; year--) {
    const last = new Date(Date.UTC(year, 2, 31));
    const sunday = new Date(last.getTime() - last.getUTCDay() * DAY_MS);
    if (sunday.getTime() < Date.now() - 7 * DAY_MS) return sunday;
  }
}

const CHANGE = findSpringChange();
const dayOf = (days: number): string => new Date(CHANGE.getTime() + days * DAY_MS).toISOString().slice(0, 10);

/** Starts the nights from one day on and before another, and returns their runs once they have ended. */
async function backfill(from: number, to: number): Promise<{ local: string; executionId: string; status: string }[]> {
  const period = ["--from", dayOf(from), "--to", dayOf(to)];
  const { ticks, started } = (await command([
    "schedules",
    "backfill",
    workflowId,
    "--schedule",
    "nightly",
    ...period,
  ])) as { started: number; ticks: { local: string; executionId: string }[] };
  expect(started).toBe(to - from);
  const ended = [];
  for (const tick of ticks) ended.push({ ...tick, status: await waitForEnd(tick.executionId) });
  return ended;
}

async function waitForEnd(executionId: string): Promise<string> {
  for (const deadline = Date.now() + PATIENCE_MS; ; await sleep(ASK_MS)) {
    const { status } = await readResult(executionId);
    if (!["queued", "running"].includes(String(status)) || Date.now() > deadline) return String(status);
  }
}

/** Where a run sent something to, and what came back, by the names of its destinations. */
async function listConnections(executionId = ""): Promise<string[]> {
  const { attempts } = (await command(["executions", "record", executionId])) as z.output<typeof ExecutionRecord>;
  const { destinations, more } = attempts[0]?.connections ?? { destinations: [], more: undefined };
  expect(more).toBeNull();
  for (const { sentBytes, receivedBytes } of destinations)
    expect(Math.min(sentBytes, receivedBytes)).toBeGreaterThan(0);
  return destinations.map((one) => `${one.name}:${one.port}${one.isNew ? " new" : ""}`).toSorted();
}

/** The result of a run that may have failed. */
async function readResult(executionId: string): Promise<Record<string, unknown>> {
  return (await ask(["executions", "show", executionId, "--json"])).json();
}

async function readLog(executionId: string): Promise<string> {
  return String((await command(["logs", executionId]))["log"]);
}

/** The messages of the team's place, once it has so many. */
async function heard(count: number): Promise<Received[]> {
  for (const deadline = Date.now() + PATIENCE_MS; ; await sleep(50)) {
    const found = listReceived("/treadle");
    if (found.length >= count) return found.slice(0, count);
    if (Date.now() > deadline) throw new Error(`There are ${found.length} messages instead of ${count}.`);
  }
}

const listReceived = (path: string): Received[] => company.received.filter((one) => one.path === path);
const addPlace = (name: string, url: string): string[] => ["notify", "add", name, url, "--kind", "webhook"];

test("publish, while nothing is set or granted, is refused at the line of each; with all of it there, it works", async () => {
  const refused = await ask(["publish", folder]);
  expect(refused.code).toBe(1);
  const lines = (await readFile(join(folder, "config.yaml"), "utf8")).split("\n");
  const expectAt = (text: string, word: string, message: string): void => {
    const line = lines.findIndex((one) => one.includes(text));
    expect(refused.stderr).toContain(`config.yaml:${line + 1}:${(lines[line] ?? "").indexOf(word) + 1} `);
    expect(refused.stderr).toContain(message);
  };
  expectAt("secrets: [", "WAREHOUSE_PASSWORD", "treadle secrets set WAREHOUSE_PASSWORD");
  expectAt("secrets: [", "RATES_TOKEN", "treadle secrets set RATES_TOKEN");
  expectAt("vars.BASE", "${{", "treadle vars set BASE_CURRENCY");
  expectAt("to: [warehouse", "warehouse", "treadle destinations add warehouse HOST:PORT");
  for (const key of ["failure", "recovery", "missed"]) expectAt(`  ${key}: [ops]`, "ops", "notify add ops");

  await command(["secrets", "set", "WAREHOUSE_PASSWORD"], `${PASSWORD}\n`);
  await command(["secrets", "set", "RATES_TOKEN"], `${TOKEN}\n`);
  await command(["vars", "set", "BASE_CURRENCY"], "EUR\n");
  await command(["destinations", "add", "warehouse", WAREHOUSE]);
  await command(["destinations", "add", "hooks", HOOKS, "--account", ACCOUNT]);
  placeSecret = String((await command(addPlace("ops", `http://${HOOKS}/treadle`)))["secret"]);
  expect(await command(["notify", "test", "ops"])).toMatchObject({ state: "delivered" });
  expect(verify(placeSecret, (await heard(1))[0] as Received)).toMatchObject({ type: "test" });
  workflowId = String((await command(["publish", folder]))["workflowId"]);
});

test("backfill, of the week in which the clocks go forward, loads each day once, also when a day is run again", async () => {
  const nights = await backfill(-3, 4);
  expect(nights.map(({ status }) => status)).toEqual(Array(7).fill("success"));
  const local = (day: number): string => `${dayOf(day)}T${day === 0 ? "03:00" : "02:30"}:00+0${day < 0 ? 1 : 2}:00`;
  const days = [-3, -2, -1, 0, 1, 2, 3];
  expect(nights.map((night) => night.local)).toEqual(days.map(local));
  const week = days.map((day) => ({ day: dayOf(day), rates: RATES }));
  expect(await readDays()).toEqual(week);
  expect(await listConnections(nights[0]?.executionId)).toEqual(["api.example.com:443 new", "warehouse:5432 new"]);
  expect(await listConnections(nights[1]?.executionId)).toEqual(["api.example.com:443", "warehouse:5432"]);
  const again = await ask(["executions", "rerun", nights[3]?.executionId ?? "", "--json"]);
  expect([again.code, again.stderr]).toEqual([0, expect.stringContaining(`Loaded 3 rates of ${dayOf(0)}`)]);
  const { executionId } = again.json();
  expect(await readDays()).toEqual(week);
  expect(await company.database.query(`select distinct loaded_by from rates where day = '${dayOf(0)}'`)).toEqual([
    { loaded_by: executionId },
  ]);
  const log = await readLog(nights[3]?.executionId ?? "");
  expect(log).toContain(`Loading EUR of ${dayOf(0)}, attempt 1, due at: ${dayOf(0)} 03:00:00+02:00`);
});

test("a night without the warehouse, after three attempts, is told with what to do, and the next good one, too", async () => {
  await company.database.stop();
  const asked = company.api.asked.length;
  const [failed] = await backfill(4, 5);
  expect(failed?.status).toBe("failed");
  const executionId = failed?.executionId ?? "";
  expect(await readLog(executionId)).toContain("attempt 3");
  // While the warehouse is down, no call of the API has to be paid.
  expect(company.api.asked).toHaveLength(asked);
  const [, failure] = (await heard(2)) as [Received, Received];
  expect(verify(placeSecret, failure)).toMatchObject({
    type: "run.failed",
    data: {
      workflow: { workflowId, name: "Warehouse rates" },
      run: { executionId, schedule: "nightly" },
      log: expect.arrayContaining([expect.stringContaining("warehouse and port 5432")]),
      changed: { inputs: [{ name: "day", after: JSON.stringify(dayOf(4)) }] },
      runAgain: `treadle executions rerun ${executionId}`,
    },
  });
  await company.database.start();
  expect((await ask(["executions", "rerun", executionId])).code).toBe(0);
  expect((await readDays()).map(({ day }) => day)).toContain(dayOf(4));
  expect((await backfill(5, 6))[0]?.status).toBe("success");
  const [, , recovery] = (await heard(3)) as [Received, Received, Received];
  expect(verify(placeSecret, recovery)).toMatchObject({ type: "run.recovered", data: { workflow: { workflowId } } });
});

test("an API that repeats the token in its refusal, shows it to nobody", async () => {
  company.api.refusing = 503;
  const [failed] = await backfill(6, 7);
  company.api.refusing = undefined;
  const executionId = failed?.executionId ?? "";
  expect(await readLog(executionId)).toContain("The API answered 503: No rates for Bearer ***.");
  expect(await readResult(executionId)).toMatchObject({ status: "failed", message: expect.stringContaining("***") });
  const traces = [TOKEN, PASSWORD].flatMap((value) => [value, Buffer.from(value).toString("base64").slice(0, 16)]);
  const said = JSON.stringify(company.received) + service.output();
  for (const trace of traces) {
    expect(said).not.toContain(trace);
    const found = spawnSync("grep", ["-rlaF", "--exclude=*.img", "-e", trace, data.dataDir], { encoding: "utf8" });
    expect([trace, found.stdout]).toEqual([trace, ""]);
  }
});

test("a commit that needs one input more, says which of the last calls it would refuse", async () => {
  await editConfig("inputs:\n", "inputs:\n  market: { type: string }\n");
  await editConfig(
    'payload: { day: "${{ tick.date }}" }\n      overlap',
    'payload: { day: "${{ tick.date }}", market: EU }\n      overlap',
  );
  await editConfig('payload: { day: "${{ tick.date }}" }\n', 'payload: { day: "${{ tick.date }}", market: EU }\n');
  const preview = await command(["publish", folder, "--dry-run"]);
  expect(preview).toMatchObject({
    inputs: [{ input: "market", change: "added", breaking: true }],
    scheduleChanges: ["nightly", "noon"].map((name) => ({ name, after: expect.stringContaining("with other inputs") })),
    calls: { triggers: [{ trigger: "form", calls: 2, refused: 2 }], examples: [{}, {}] },
  });
});

/** Begins a message to the warehouse that it never finishes, so that the connection is in use. */
const HOLD = `import socket, struct, time

def main():
    with socket.create_connection(("warehouse", 5432), timeout=10) as connection:
        connection.sendall(struct.pack("!i", 10000))
        print("connected", flush=True)
        try:
            for _ in range(500):
                connection.sendall(b"x")
                time.sleep(0.1)
        except OSError as error:
            print("ended by", type(error).__name__)
`;

/** Starts a run that is connected to the warehouse, and returns its id. */
async function holdConnection(): Promise<string> {
  const config = "triggers:\n  api: { enabled: true }\nlimits:\n  network: { to: [warehouse] }\n";
  const { workflowId: id } = await command(["publish", await aFolder({ "config.yaml": config, "main.py": HOLD })]);
  void ask(["run", String(id)]);
  for (const deadline = Date.now() + PATIENCE_MS; ; await sleep(ASK_MS)) {
    const { executions } = await command(["executions", "list", "--workflow", String(id)]);
    const [{ executionId } = { executionId: "" }] = executions as { executionId: string }[];
    if (executionId !== "" && (await readLog(executionId)).includes("connected")) return executionId;
    if (Date.now() > deadline) throw new Error("No run has connected to the warehouse.");
  }
}

test("a destination that is taken away, is cut for a run that is connected, and ends the nights until it is granted again", async () => {
  const held = await holdConnection();
  await command(["destinations", "remove", "warehouse"]);
  expect(await waitForEnd(held)).toBe("success");
  const log = await readLog(held);
  expect(log).toMatch(/ended by (ConnectionResetError|BrokenPipeError)/);
  expect(log).toContain(`The destination warehouse (${WAREHOUSE}) was taken away. Connections there are closed.`);
  const run = await ask(["run", workflowId, "-i", `day=${dayOf(0)}`]);
  expect([run.code, run.stdout + run.stderr]).toEqual([1, expect.stringContaining("has no destination warehouse")]);
  await command(["destinations", "add", "warehouse", WAREHOUSE]);
  expect((await ask(["run", workflowId, "-i", `day=${dayOf(0)}`])).code).toBe(0);
});

test("a private receiver, granted to the team alone, gets nothing of another account, and sends messages nowhere else", async () => {
  await command(["accounts", "create", "neighbour"]);
  const ofNeighbour = ["--account", "neighbour"];
  const refused = await ask([...addPlace("ops", `http://${HOOKS}/neighbour`), ...ofNeighbour]);
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("must begin with https://")]);
  await command([...addPlace("ops", `https://${HOOKS}/neighbour`), ...ofNeighbour]);
  const sent = await ask(["notify", "test", "ops", ...ofNeighbour]);
  expect([sent.code, sent.stdout + sent.stderr]).toEqual([1, expect.stringContaining("has no destination there")]);

  await command(addPlace("moved", `http://${HOOKS}/moved`));
  const moved = await ask(["notify", "test", "moved"]);
  expect([moved.code, moved.stdout + moved.stderr]).toEqual([1, expect.stringContaining("redirects are not followed")]);
  expect(["/moved", "/neighbour", "/elsewhere"].map((path) => listReceived(path).length)).toEqual([1, 0, 0]);
});
