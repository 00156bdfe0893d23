import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { findTarget } from "../../db/commits/commits.ts";
import type { WorkflowId } from "../../domain/ids.ts";
import type { CommitProblem } from "../../environments/commit-environments.ts";
import { createWorkflowId } from "../../src/ids.ts";
import { hashApiKey } from "../../src/keys/api-key.ts";
import { findVersion } from "../../src/version.ts";
import { aMember, anAccount } from "../support/builders.ts";
import { aCliService, type CliService, cli } from "./cli-service.ts";

let service: CliService;
beforeAll(async () => {
  service = await aCliService();
});
afterAll(() => service.close());

test("workflows and key, through a life, answer the documents of the contract", async () => {
  const created = await service.cli("workflows", "create", "My flow", "--json");
  expect([created.code, created.err]).toEqual([0, ""]);
  expect(created.json()).toEqual({ workflowId: expect.stringMatching(/^wf_/), apiKey: expect.stringMatching(/^trd_/) });
  const { workflowId, apiKey } = created.json() as { workflowId: string; apiKey: string };

  const listed = (await service.cli("workflows", "list", "--json")).json() as {
    workflows: { workflowId: string; name: string }[];
  };
  expect(listed.workflows[0]).toMatchObject({ workflowId, name: "My flow", commitId: null });
  expect((await service.cli("key", "show", workflowId, "--json")).json()).toEqual({ apiKey });

  const rotated = (await service.cli("key", "rotate", workflowId, "--grace", "1h30m", "--json")).json();
  expect(Math.round((Date.parse(rotated["previousKeyExpiresAt"] as string) - Date.now()) / 60_000)).toBe(90);
  const again = (await service.cli("key", "rotate", workflowId, "--json")).json();
  expect(again["previousKeyExpiresAt"]).toBeNull();
  const opening = [apiKey, rotated["apiKey"], again["apiKey"]].map((key) =>
    findTarget(service.db, workflowId as WorkflowId, hashApiKey(String(key))),
  );
  expect((await Promise.all(opening)).map((target) => target?.keyValid)).toEqual([false, false, true]);
  expect((await service.cli("key", "show", workflowId)).out.split("\n")[0]).toBe(again["apiKey"]);

  expect((await service.cli("workflows", "delete", workflowId, "--json")).json()).toEqual({
    workflowId,
    deleted: true,
  });
  const gone = await service.cli("key", "show", workflowId, "--json");
  expect([gone.code, gone.json()]).toEqual([
    1,
    { error: "Workflow not found", message: expect.any(String), details: [] },
  ]);
});

test("credits, granted and adjusted down, answer the balance", async () => {
  const account = ["--account", "cli", "--json"];
  expect((await service.cli("accounts", "create", "cli", "--credits", "2.5", "--json")).json()).toMatchObject({
    name: "cli",
    balance: 2.5,
  });
  expect((await service.cli("credits", "grant", "0.5", "--reason", "a gift", ...account)).json()).toEqual({
    balance: 3,
    reserved: 0,
    available: 3,
  });
  expect((await service.cli("credits", "adjust", "-1.25", ...account)).json()).toEqual({
    balance: 1.75,
    reserved: 0,
    available: 1.75,
  });
  expect((await service.cli("credits", "show", ...account)).json()).toEqual({
    balance: 1.75,
    reserved: 0,
    available: 1.75,
  });
  expect((await service.cli("credits", "show")).out).toBe("balance 100, reserved 0, available 100\n");
  const refused = await service.cli("credits", "adjust", "-2", ...account);
  expect([refused.code, refused.json()["error"]]).toEqual([1, "Conflict"]);
});

test("accounts list, on a terminal, prints a table", async () => {
  const { out } = await service.cli("accounts", "list");
  expect(
    out
      .split("\n")
      .slice(0, 2)
      .map((line) => line.split(/ +/)),
  ).toEqual([
    ["Name", "Account", "Balance", "Reserved", "Available"],
    ["main", expect.stringMatching(/^acct_/), "100", "0", "100"],
  ]);
});

test.each([
  ["no command", []],
  ["an unknown command", ["frobnicate"]],
  ["an unknown group command", ["workflows", "frobnicate"]],
  ["a group alone", ["credits"]],
  ["a missing argument", ["workflows", "create"]],
  ["an argument too many", ["workflows", "list", "more"]],
  ["an unknown option", ["credits", "show", "--colour"]],
  ["credits that are none", ["credits", "grant", "lots"]],
  ["a length of time that is none", ["key", "rotate", "wf_0000000000000000", "--grace", "soon"]],
  ["a limit that is none", ["executions", "list", "--limit", "0"]],
  ["an input without a value", ["run", "wf_0000000000000000", "-i", "name"]],
])("runCli, with %s, exits 2 with words on standard error and nothing on standard output", async (_what, argv) => {
  for (const json of [[], ["--json"]]) {
    const result = await cli([...argv, ...json]);
    expect([result.code, result.out]).toEqual([2, ""]);
    expect(result.err).not.toBe("");
  }
});

test("runCli, asked for help, exits 0", async () => {
  const { code, out } = await cli(["--help"]);
  expect([code, out]).toEqual([0, expect.stringContaining("publish")]);
});

test("runCli, asked for its version, prints that of the program and exits 0", async () => {
  expect(await cli(["--version"])).toMatchObject({ code: 0, out: `${findVersion()}\n` });
});

test("a command, with --json before its name, answers JSON too", async () => {
  expect((await service.cli("--json", "credits", "show")).json()).toEqual({
    balance: 100,
    reserved: 0,
    available: 100,
  });
});

test("a command, without a running service, exits 1 and says how to start one", async () => {
  const dir = mkdtempSync(join(tmpdir(), "no-service-"));
  try {
    const result = await cli(["credits", "show", "--json"], { cwd: dir });
    expect([result.code, result.json()]).toEqual([
      1,
      { error: "Service not running", message: expect.stringContaining("npm start"), details: [] },
    ]);
    expect(result.json()["message"]).toContain(join(dir, ".treadle"));
    const plain = await cli(["credits", "show"], { cwd: dir });
    expect([plain.code, plain.out, plain.err]).toEqual([1, "", expect.stringContaining("npm start")]);
  } finally {
    rmSync(dir, { recursive: true });
  }
});

test("a command, when ready.json is left over from a service that was killed, says that nothing answers", async () => {
  const dir = service.folder({
    "keys/operator-token": "trp_x",
    "ready.json": JSON.stringify({ url: "https://127.0.0.1:1" }),
  });
  const result = await cli(["credits", "show", "--data-dir", dir, "--json"]);
  expect([result.code, result.json()["error"]]).toEqual([1, "Service not running"]);
});

test("a command, with --data-dir, uses that service even when TREADLE_URL names another", async () => {
  const env = { TREADLE_URL: "https://127.0.0.1:1", TREADLE_TOKEN: "trp_x" };
  expect((await cli(["credits", "show", "--data-dir", service.dataDir], { env })).code).toBe(0);
  expect((await cli(["credits", "show"], { env: { ...env, TREADLE_DATA_DIR: service.dataDir } })).code).toBe(1);
});

test.each([
  ["plain http", { TREADLE_URL: "http://127.0.0.1:8443", TREADLE_TOKEN: "trp_x" }, "https://"],
  ["no token", { TREADLE_URL: "https://127.0.0.1:8443" }, "TREADLE_TOKEN"],
  [
    "a token twice",
    { TREADLE_URL: "https://127.0.0.1:8443", TREADLE_TOKEN: "trp_x", TREADLE_TOKEN_FILE: "/nowhere" },
    "TREADLE_TOKEN_FILE: is set, and so is TREADLE_TOKEN",
  ],
])("a command, with TREADLE_URL and %s, exits 1 and says what to set", async (_what, env, words) => {
  const result = await cli(["credits", "show"], { env });
  expect([result.code, result.err]).toEqual([1, expect.stringContaining(words)]);
});

test("a command, against a certificate nobody vouches for, exits 1 and sends no token", async () => {
  const file = join(service.folder({ token: `${service.operatorToken}\n` }), "token");
  const result = await cli(["credits", "show", "--json"], {
    env: { TREADLE_URL: `${service.url}/api/`, TREADLE_TOKEN_FILE: file },
  });
  expect([result.code, result.json()["error"]]).toEqual([1, "Certificate not trusted"]);
});

test("a command, with a token that is not valid, exits 1", async () => {
  const dir = service.folder({ "keys/operator-token": "trp_wrong\n" });
  writeFileSync(join(dir, "ready.json"), JSON.stringify({ url: service.url, caFile: join(service.dataDir, "ca.pem") }));
  const result = await cli(["credits", "show", "--data-dir", dir, "--json"]);
  expect([result.code, result.json()["error"]]).toEqual([1, "Unauthorized"]);
});

test("a command, on the machine of a service behind a proxy that is away or has another certificate, calls the service itself", async () => {
  const { port } = new URL(service.url);
  const dir = service.folder({ "keys/operator-token": service.operatorToken, "other.pem": "" });
  const caFile = join(service.dataDir, "ca.pem");
  const write = (serverName: string | null) =>
    writeFileSync(
      join(dir, "ready.json"),
      JSON.stringify({
        url: "https://treadle.invalid",
        local: { url: `https://127.0.0.1:${port}`, serverName },
        caFile,
      }),
    );
  const show = () => cli(["credits", "show", "--data-dir", dir, "--json"]);
  write("localhost");
  expect((await show()).code).toBe(0);
  write("treadle.invalid");
  expect((await show()).json()["message"]).toContain("ERR_TLS_CERT_ALTNAME_INVALID");
  // What Node is told to trust besides is trusted, and the roots stay.
  write("localhost");
  writeFileSync(join(dir, "ready.json"), JSON.stringify({ url: service.url, caFile: join(dir, "other.pem") }));
  const trusting = { env: { NODE_EXTRA_CA_CERTS: caFile } };
  expect((await cli(["credits", "show", "--data-dir", dir], trusting)).code).toBe(0);
  expect((await show()).json()["error"]).toBe("Certificate not trusted");
});

test("doctor, on a service with a failing check, names each check and exits 1", async () => {
  const checks = {
    database: { ok: true, message: "PostgreSQL answers." },
    isolation: { ok: false, message: "Install bubblewrap." },
  };
  const ill = await aCliService({ readiness: async () => ({ ready: false, checks }) });
  try {
    const parts = { checkMachine: async (dataDir: string) => [{ name: "python", ok: true, message: dataDir }] };
    const result = await cli(["doctor", "--json"], { env: { TREADLE_DATA_DIR: ill.dataDir }, parts });
    expect(result.code).toBe(1);
    expect(result.json()).toEqual({
      ok: false,
      checks: [
        { name: "python", ok: true, message: ill.dataDir },
        { name: "service", ok: false, message: expect.stringContaining("not ready") },
        { name: "database", ok: true, message: "PostgreSQL answers." },
        { name: "isolation", ok: false, message: "Install bubblewrap." },
      ],
    });
    expect((await ill.cli("doctor")).out).toContain("FAIL  isolation: Install bubblewrap.\n");
  } finally {
    await ill.close();
  }
});

test("doctor, where commits cannot run, names those that the caller may see, with the reason", async () => {
  const commits = { ok: false, message: "Of the workflows, 2 cannot run." };
  const problems: CommitProblem[] = [];
  const ill = await aCliService({
    readiness: async () => ({ ready: true, checks: { commits } }),
    commitProblems: () => problems,
  });
  try {
    const folder = ill.folder({ "config.yaml": "name: Old\n", "main.py": "" });
    const { workflowId, commitId } = (await ill.cli("publish", folder, "--json")).json() as Record<string, string>;
    const reason = "It asks for Python 3.10, and this host has 3.11.";
    const gone = { workflowId: createWorkflowId(), commitId, reason, isBeingMade: false } as CommitProblem;
    problems.push(gone, { ...gone, workflowId: workflowId as WorkflowId });
    const named = { name: workflowId, ok: false, message: `"Old", commit ${commitId}: ${reason}` };
    const result = await ill.cli("doctor", "--json");
    expect([result.code, result.json()]).toEqual([
      1,
      { ok: false, checks: [expect.anything(), { name: "commits", ...commits }, named] },
    ]);
    const stranger = await aMember(ill.db, await anAccount(ill.db));
    expect((await ill.cliAs(stranger, "doctor")).out).not.toContain("Old");
  } finally {
    await ill.close();
  }
});

test("doctor, on a healthy service, exits 0; without one it still shows the machine, and exits 1", async () => {
  expect((await service.cli("doctor", "--json")).json()).toMatchObject({ ok: true });
  const parts = { checkMachine: async () => [{ name: "python", ok: true, message: "3.11.2" }] };
  const alone = await cli(["doctor"], { cwd: service.folder({ x: "" }), parts });
  expect([alone.code, alone.out]).toEqual([
    1,
    expect.stringMatching(/^ok {4}python: 3\.11\.2\nFAIL {2}service: No service/),
  ]);
});

test("doctor --bench, adds what was measured; where nothing can be, says why and exits 1", async () => {
  const figures = [{ name: "disk", value: 0.5, unit: "ms", message: "it keeps 8 KiB for good in 0.50 ms" }];
  const able = { parts: { measureSpeed: async () => figures }, env: { TREADLE_DATA_DIR: service.dataDir } };
  expect((await cli(["doctor", "--bench", "--json"], able)).json()).toMatchObject({ ok: true, figures });
  expect((await cli(["doctor", "--bench"], able)).out).toMatch(/\n {6}disk: it keeps 8 KiB for good in 0\.50 ms\n$/);
  expect((await cli(["doctor", "--json"], able)).json()).not.toHaveProperty("figures");
  const parts = { measureSpeed: () => Promise.reject(new Error("Nothing could be measured: no disk.")) };
  const unable = await cli(["doctor", "--bench"], { ...able, parts });
  expect([unable.code, unable.out]).toEqual([
    1,
    expect.stringContaining("FAIL  bench: Nothing could be measured: no disk.\n"),
  ]);
  const lacking = { ...able.parts, checkMachine: async () => [{ name: "bubblewrap", ok: false, message: "none" }] };
  expect((await cli(["doctor", "--bench"], { ...able, parts: lacking })).out).toMatch(
    /^FAIL {2}bubblewrap: none\n[^]*FAIL {2}bench: Nothing was measured\. [^\n]*\n$/,
  );
});

test("start, with a port and a folder, hands them to whoever starts services and exits as that says", async () => {
  const asked: unknown[] = [];
  const start = async (options: unknown): Promise<number> => (asked.push(options), 3);
  expect((await cli(["start", "--port", "0", "--data-dir", "d"], { parts: { start } })).code).toBe(3);
  expect(asked).toEqual([{ port: 0, dataDir: "d" }]);
  expect((await cli(["start", "--port", "70000"], { parts: { start } })).code).toBe(2);
});
