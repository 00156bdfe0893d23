import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { testAlone } from "../support/alone.ts";
import { aFolder, startTreadle, treadle } from "../support/command-line.ts";
import { aPlace, type Place } from "../support/place.ts";
import { type Answer, type TestService } from "../support/service.ts";

const LATER_MS = 120_000;

let service: TestService;
let place: Place;

beforeAll(async () => {
  place = await aPlace();
  service = await place.start();
}, 600_000);

afterAll(async () => {
  await service?.stop();
  await place?.remove();
});

interface Workflow {
  readonly workflowId: string;
  readonly apiKey: string;
}

function send(workflow: Workflow, headers: Record<string, string> = {}, inputs: object = {}): Promise<Answer> {
  return service.call(`/workflows/${workflow.workflowId}/execute`, {
    method: "POST",
    headers: { "x-api-key": workflow.apiKey, "content-type": "application/json", ...headers },
    body: JSON.stringify(inputs),
  });
}

async function waitForSuccess(workflow: Workflow, executionId: unknown): Promise<Answer> {
  for (const deadline = Date.now() + LATER_MS; ; await sleep(100)) {
    const headers = { "x-api-key": workflow.apiKey };
    const answer = await service.call(`/run-logs/${String(executionId)}`, { headers });
    if (answer.body["status"] === "success") return answer;
    expect(["queued", "running"]).toContain(answer.body["status"]);
    if (Date.now() > deadline) throw new Error(`It did not succeed in time: ${answer.text}`);
  }
}

const SECRET = 'grün? "42"/+&=% ende';
const SECRET_CONFIG = `inputs:
  password: { type: secret, required: false }
secrets: [WAREHOUSE_PASSWORD]
env: { REGION: eu, LEVEL: "\${{ vars.LEVEL }}" }
triggers:
  api: { enabled: true }
  schedule: { enabled: true, cron: "0 3 * * *", payload: { password: \${{ secrets.WAREHOUSE_PASSWORD }} } }
`;
let secretive: Workflow;

async function command(args: readonly string[], input = ""): Promise<Record<string, unknown>> {
  const answer = await treadle(place.dataDir, [...args, "--json"], input);
  expect([args, answer.code, answer.stdout + answer.stderr]).toEqual([args, 0, expect.any(String)]);
  return answer.json();
}

function readLog(executionId: unknown): Promise<Answer> {
  const headers = { "x-api-key": secretive.apiKey };
  return service.call(`/run-logs/${String(executionId)}/logs`, { headers });
}

/** Drafts are a member's: the operator has none. Returns the cookie of a session. */
async function joinAsMember(): Promise<string> {
  const { url } = await command(["invitations", "create", "ada@example.test", "--role", "member"]);
  const token = String(url).split("#")[1];
  const headers = { "sec-fetch-site": "same-origin", "content-type": "application/json" };
  const body = JSON.stringify({ token, password: "correct horse battery staple" });
  const joined = await service.call("/join", { method: "POST", headers, body });
  return String(joined.headers["set-cookie"]).split(";")[0] as string;
}

async function seenBy(outputs: unknown): Promise<unknown> {
  const path = new URL((outputs as { seen: string }).seen).pathname.replace(/^\/api/, "");
  return (await service.call(path, { headers: { "x-api-key": secretive.apiKey } })).body;
}

const SEEN = { sha256: createHash("sha256").update(SECRET).digest("hex"), same: true };

/** Everything that would give the secret away, in the forms in which text is kept. */
const TRACES = [
  SECRET,
  encodeURIComponent(SECRET),
  Buffer.from(SECRET).toString("base64").slice(0, 16),
  '? \\"42\\"/+',
];

function expectNoTrace(text: string): void {
  for (const trace of TRACES) expect(text).not.toContain(trace);
}

test("publish, of a workflow whose secret and variable are not set, is refused at their lines", async () => {
  const program = await readFile(new URL("secret-program.py", import.meta.url), "utf8");
  const folder = await aFolder({ "config.yaml": SECRET_CONFIG, "main.py": program });
  const refused = await treadle(place.dataDir, ["publish", folder]);
  expect(refused.code).toBe(1);
  expect(refused.stderr).toContain("config.yaml:3:11");
  expect(refused.stderr).toContain('There is no secret "WAREHOUSE_PASSWORD" for this workflow.');
  expect(refused.stderr).toContain(
    'env.LEVEL: There is no variable "LEVEL" for this workflow. Set it first: treadle vars set LEVEL',
  );
  expect(refused.stderr).toContain("triggers.schedule.payload.password: There is no secret");
  expect(await command(["secrets", "set", "WAREHOUSE_PASSWORD"], `${SECRET}\n`)).toMatchObject({
    version: 1,
    masked: true,
  });
  await command(["vars", "set", "LEVEL"], "info\n");
  secretive = (await command(["publish", folder])) as unknown as Workflow;
});

test("run, that prints its secret in twelve disguises, has it and shows none of them", async () => {
  const answer = await send(secretive, { accept: "text/event-stream" });
  expectNoTrace(answer.text);
  const result = JSON.parse(/^event: result\ndata: (.*)$/m.exec(answer.text)?.[1] ?? "{}") as Record<string, unknown>;
  expect(await seenBy(result["outputs"])).toEqual({ ...SEEN, fed: false });
  const { text } = await readLog(result["executionId"]);
  expectNoTrace(text);
  expect(text).toContain("region eu level info");
  expect(text.match(/\*\*\*/g)?.length).toBeGreaterThanOrEqual(11);
  const record = await command(["executions", "record", String(result["executionId"])]);
  expect(record).toMatchObject({
    attempts: [
      {
        values: [
          { kind: "secret", name: "WAREHOUSE_PASSWORD", version: 1, workflow: false },
          { kind: "variable", name: "LEVEL", version: 1, workflow: false },
        ],
      },
    ],
  });
});

test("run, of a draft, in a lane and by schedule, has its secret; the schedule feeds an input with it", async () => {
  for (let round = 0; round < 3; round++) {
    const { body } = await send(secretive);
    expect(await seenBy(body["outputs"])).toEqual({ ...SEEN, fed: false });
  }
  const draft = await service.call(`/workflows/${secretive.workflowId}/draft/execute`, {
    method: "POST",
    headers: { cookie: await joinAsMember(), "sec-fetch-site": "same-origin", "content-type": "application/json" },
    body: "{}",
  });
  expect(await seenBy(draft.body["outputs"])).toEqual({ ...SEEN, fed: false });
  const [from, to] = [new Date(Date.now() - 86_400_000), new Date()].map((at) => at.toISOString());
  const { ticks } = (await command([
    "schedules",
    "backfill",
    secretive.workflowId,
    "--from",
    String(from),
    "--to",
    String(to),
  ])) as { ticks: { executionId: string }[] };
  const scheduled = await waitForSuccess(secretive, ticks[0]?.executionId);
  expect(await seenBy(scheduled.body["outputs"])).toEqual({ ...SEEN, fed: true });
});

test("run, that fails with its secret in the message, has it masked; one with a value of the workflow itself gets that", async () => {
  const own = ["--workflow", secretive.workflowId];
  await command(["vars", "set", "LEVEL", ...own], "fail");
  const { body, text } = await send(secretive);
  expect(body["status"]).toBe("failed");
  expectNoTrace(text);
  const { text: logs } = await readLog(body["executionId"]);
  expectNoTrace(logs);
  expect(logs).toContain("refused: ***");
  await command(["vars", "remove", "LEVEL", ...own]);
});

test("secret, that a workflow names, is not removed; what cannot be one is refused with why", async () => {
  const remove = await treadle(place.dataDir, ["secrets", "remove", "WAREHOUSE_PASSWORD"]);
  expect([remove.code, remove.stderr]).toEqual([1, expect.stringContaining(`(${secretive.workflowId})`)]);
  for (const [name, value, why] of [
    ["PATH", "x", "the service sets it"],
    ["LD_PRELOAD", "x", "how programs are loaded"],
    ["PYTHONPATH", "x", "the interpreter itself"],
    ["TREADLE_RUN_ID", "x", "the service's own"],
    ["9LIVES", "x", "begin with no digit"],
    ["TOKEN", "a\0b", "NUL"],
    ["TOKEN", "a".repeat(32_769), "may have 32768 (32 KiB)"],
    ["TOKEN", "", "must not be empty"],
  ] as const) {
    const refused = await treadle(place.dataDir, ["secrets", "set", name], value);
    expect([name, refused.code, refused.stderr]).toEqual([name, 1, expect.stringContaining(why)]);
  }
});

testAlone(
  "secret, that is set anew, is the next version, and no older value is anywhere on the disk or in what the service says",
  async () => {
    expectNoTrace(service.output());
    const target = join(place.dataDir, "..", "backup");
    await command(["backup", target]);
    // Neither the database, Temporal's, storage, spool, logs nor the backup.
    for (const trace of TRACES.slice(0, 3)) {
      const found = spawnSync("grep", ["-rlaF", "--exclude=*.img", "-e", trace, place.dataDir, target], {
        encoding: "utf8",
      });
      expect([trace, found.stdout]).toEqual([trace, ""]);
    }
    expect(await command(["secrets", "set", "WAREHOUSE_PASSWORD"], "another-value")).toMatchObject({ version: 2 });
    const { versions } = (await command(["secrets", "history", "WAREHOUSE_PASSWORD"])) as { versions: object[] };
    expect(versions).toMatchObject([
      { version: 2, removed: false, value: null },
      { version: 1, removed: false, value: null, lastUsedAt: expect.any(String) },
    ]);
    const { body } = await send(secretive);
    expect(await seenBy(body["outputs"])).toMatchObject({
      sha256: createHash("sha256").update("another-value").digest("hex"),
    });
  },
);

testAlone(
  "master key, rotated by a command that is killed again and again while calls go on, is another, and all that is sealed opens",
  async () => {
    const file = join(place.dataDir, "keys/master");
    const before = await readFile(file);
    const canary = "to be opened later";
    await command(["secrets", "set", "LATER"], canary);
    const keyed = () => send(secretive, { "idempotency-key": "over-the-rotation" }, { password: "of a caller" });
    const first = await keyed();
    let isOver = false;
    const calling = (async () => {
      for (; !isOver; await sleep(500)) expect((await send(secretive)).body["status"]).toBe("success");
    })();
    // Each is killed at another point: while it waits, after the files were changed, while it seals.
    for (const ms of [1_000, 6_000, 14_000]) {
      const killed = startTreadle(place.dataDir, ["keys", "rotate-master"]);
      await sleep(ms);
      killed.kill("SIGKILL");
    }
    const rotated = await command(["keys", "rotate-master"]);
    isOver = true;
    await calling;
    expect(rotated).toEqual({ resealed: expect.any(Object) });
    const after = await readFile(file);
    expect(after.equals(before)).toBe(false);
    expect(await readdir(join(place.dataDir, "keys"))).not.toContainEqual(expect.stringMatching(/^master\./));
    // Without the old key, by a process that has never had it.
    await service.stop("SIGKILL");
    service = await place.start();
    expect((await send(secretive)).body["status"]).toBe("success");
    expect((await keyed()).body["executionId"]).toBe(first.body["executionId"]);
    expect(await command(["key", "show", secretive.workflowId])).toEqual({ apiKey: secretive.apiKey });
    expect(await command(["secrets", "set", "LATER"], "and set anew")).toMatchObject({ version: 2 });
  },
  300_000,
);

test("publish, of a destination that is not granted, is refused at its line; once granted it runs, until that is taken away", async () => {
  const config = "limits:\n  network:\n    to: [warehouse]\ntriggers:\n  api: { enabled: true }\n";
  const program = "def main():\n    return open('/etc/hosts').read()\n";
  const folder = await aFolder({ "config.yaml": config, "main.py": program });
  const refused = await treadle(place.dataDir, ["publish", folder]);
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("config.yaml:3:10")]);
  expect(refused.stderr).toContain('The account has no destination "warehouse".');
  await command(["destinations", "add", "warehouse", "10.20.0.5:5432"]);
  const workflow = (await command(["publish", folder])) as unknown as Workflow;
  const answer = await send(workflow);
  expect(answer.body["status"]).toBe("success");
  await command(["destinations", "remove", "warehouse"]);
  const { status, message } = (await send(workflow)).body;
  expect([status, message]).toEqual([
    "failed",
    "The account has no destination warehouse any more (limits.network). The operator grants one: treadle destinations add warehouse HOST:PORT",
  ]);
});
