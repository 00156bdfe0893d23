import { execFile } from "node:child_process";
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "@jest/globals";
import { findCgroupFolders } from "../../sandbox/cgroup-folders.ts";
import { loadSettings } from "../../src/config.ts";
import { runCommand } from "../../src/setup/servers/command.ts";
import { canReach } from "../../src/setup/servers/reachability.ts";
import { findServiceUser } from "../../src/setup/user.ts";
import { inspectMachine } from "../../src/start/inspection.ts";
import {
  aFolder,
  afterwards,
  aProgram,
  aTemporalProgram,
  IS_ROOT,
  NODE_ARGUMENTS,
  RUN_AS,
} from "./servers/surroundings.ts";

const PROGRAM = fileURLToPath(new URL("prepare-here.ts", import.meta.url));

interface Prepared {
  readonly dataDir: string;
  readonly paths: Record<string, string>;
  readonly runAs?: { uid: number; gid: number };
  readonly python: { path: string };
  readonly uv: { path: string };
  readonly temporal?: { path: string; version: string };
  readonly problems: string[];
  readonly sandboxUsers: { readonly message: string };
  readonly env: Record<string, string>;
  readonly caFile: string;
  readonly keyReadable: boolean;
  readonly reports: string[];
  /** Where the service, as whoever it is then, can limit programs. */
  readonly cgroups?: { readonly version: number; readonly memory: string };
  readonly uid: number;
  readonly refused?: string;
}

/** A built checkout as far as the preparation looks at it, and the tools it would otherwise fetch. */
function aCheckout() {
  const path = aFolder();
  for (const file of [
    "package.json",
    "dist/command/start.js",
    "dist/runner/main.py",
    "node_modules/pg/package.json",
    "examples/x",
  ]) {
    mkdirSync(dirname(join(path, file)), { recursive: true });
    writeFileSync(join(path, file), "");
  }
  const tools = aFolder();
  aProgram(join(tools, "uv"), "echo uv 0.9.9");
  const temporal = aTemporalProgram(join(tools, "temporal"), "1.8.2", "1.31.2");
  const env = {
    PATH: `${tools}:/usr/bin:/bin`,
    HOME: aFolder(),
    TREADLE_DATA_DIR: join(path, ".treadle"),
    TEMPORAL_CLI_PATH: temporal,
    TREADLE_INSTALL: "never",
  };
  return { path, env, tools };
}

async function prepare(how: {
  checkout: string;
  env: Record<string, string>;
  become?: { uid: number; gid: number } | undefined;
}): Promise<Prepared> {
  const { stdout } = await promisify(execFile)(process.execPath, [...NODE_ARGUMENTS, PROGRAM, JSON.stringify(how)], {
    env: { ...process.env, NODE_OPTIONS: "" },
  });
  return JSON.parse(stdout) as Prepared;
}

test("prepareMachine, as root in a checkout that everybody may read, becomes the unprivileged user with everything its own", async () => {
  if (!IS_ROOT) return expect(RUN_AS).toBeUndefined();
  const { path, env, tools } = aCheckout();
  const machine = await prepare({ checkout: path, env });
  const user = await findServiceUser(runCommand);
  if (user === undefined || !(await canReach(process.execPath, "x", user))) return expect(machine.uid).toBe(0);
  expect(machine).toMatchObject({
    uid: user.uid,
    dataDir: join(path, ".treadle"),
    keyReadable: true,
    problems: [],
    uv: { path: join(tools, "uv") },
  });
  expect(machine.runAs).toBeUndefined();
  expect(machine.env).toMatchObject({ HOME: machine.paths.runtime, USER: user.name });
  expect(machine.temporal).toMatchObject({ path: join(tools, "temporal"), version: "1.8.2" });
  expect(statSync(machine.dataDir).mode & 0o777).toBe(0o711);
  expect(machine.sandboxUsers.message).toMatch(
    /^each sandbox is a kernel user of its own \(ids \d+–\d+, given by root\)$/,
  );
  for (const name of ["keys", "tls", "tls/key.pem", "storage", "runtime", "data-version"]) {
    expect({ name, uid: lstatSync(join(machine.dataDir, name)).uid }).toEqual({ name, uid: user.uid });
  }
  expect(readdirSync(machine.dataDir)).not.toContain("instance.lock");
});

test("prepareMachine, when the service becomes another user, leaves it cgroups to limit programs with, and clears those of services that ended", async () => {
  const rootCgroups = IS_ROOT ? findCgroupFolders() : undefined;
  const { path, env } = aCheckout();
  const first = await prepare({ checkout: path, env });
  expect(first.cgroups?.version).toBe(rootCgroups?.version);
  if (rootCgroups === undefined || first.uid === 0) return;
  expect(first.cgroups?.memory).toMatch(/\/treadle-host-\d+$/);
  const second = await prepare({ checkout: path, env });
  expect(existsSync(first.cgroups?.memory as string)).toBe(false);
  expect(second.cgroups?.memory).not.toBe(first.cgroups?.memory);
});

test("prepareMachine, when several services start at once, has none of them trip over what another clears away", async () => {
  const earlier = aCheckout();
  await prepare({ checkout: earlier.path, env: earlier.env });
  const checkouts = [aCheckout(), aCheckout(), aCheckout()];
  const machines = await Promise.all(checkouts.map(({ path, env }) => prepare({ checkout: path, env })));
  expect(machines.map(({ refused }) => refused)).toEqual([undefined, undefined, undefined]);
});

test("prepareMachine, as root in a checkout under a closed folder, stays root, keeps secrets, and gives servers and programs a user and a place", async () => {
  if (!IS_ROOT) return expect(RUN_AS).toBeUndefined();
  const { path, env } = aCheckout();
  chmodSync(path, 0o700);
  const machine = await prepare({ checkout: path, env });
  afterwards(() => rmSync(machine.dataDir, { recursive: true, force: true }));
  const user = await findServiceUser(runCommand);
  expect(machine).toMatchObject({ uid: 0, runAs: { uid: user?.uid, gid: user?.gid }, keyReadable: true });
  expect(machine.dataDir).toBe(realpathSync(join(path, ".treadle")));
  expect(machine.dataDir).toMatch(/^\/var\/lib\/treadle\/treadle-[0-9a-f]{8}$/);
  for (const name of ["spool", "commits", "environments", "runtime"])
    expect(await canReach(join(machine.dataDir, name), "x", user)).toBe(true);
  for (const name of ["keys", "storage", "tls/key.pem"])
    expect(await canReach(join(machine.dataDir, name), "r", user)).toBe(false);
  expect(await canReach(machine.python.path, "x", user)).toBe(true);
  expect(machine.reports.join("\n")).toContain("the service stays root; PostgreSQL, Temporal and every program run as");

  expect((await prepare({ checkout: path, env })).dataDir).toBe(machine.dataDir);
});

test("prepareMachine, as an ordinary user, does everything as that user and asks for nothing else", async () => {
  const { path, env } = aCheckout();
  if (RUN_AS !== undefined) chownSync(path, RUN_AS.uid, RUN_AS.gid);
  const machine = await prepare({ checkout: path, env, become: RUN_AS });
  expect(machine).toMatchObject({
    uid: RUN_AS?.uid ?? process.getuid?.(),
    dataDir: join(path, ".treadle"),
    keyReadable: true,
    problems: [],
  });
  expect(machine.runAs).toBeUndefined();
  expect(statSync(machine.dataDir).mode & 0o777).toBe(0o700);
  expect(machine.sandboxUsers.message).toMatch(/share the service's kernel user.*usermod --add-subuids/);
});

test("prepareMachine, when the Python asked for does not do, says so and leaves the data folder to the next start", async () => {
  const { path, env } = aCheckout();
  if (RUN_AS !== undefined) chownSync(path, RUN_AS.uid, RUN_AS.gid);
  const machine = await prepare({
    checkout: path,
    env: { ...env, TREADLE_PYTHON: "/nowhere/python3" },
    become: RUN_AS,
  });
  expect(machine.refused).toContain("TREADLE_PYTHON is /nowhere/python3, but it cannot execute it");
  expect(readdirSync(join(path, ".treadle"))).not.toContain("instance.lock");
});

test("prepareMachine, with isolation switched off, looks for no sandbox tools", async () => {
  const { path, env } = aCheckout();
  if (RUN_AS !== undefined) chownSync(path, RUN_AS.uid, RUN_AS.gid);
  const machine = await prepare({ checkout: path, env: { ...env, TREADLE_ISOLATION: "none" }, become: RUN_AS });
  expect(machine).toMatchObject({ problems: [], bwrapPath: "bwrap" });
});

test("inspectMachine, on this machine, finds Node.js, Python and a working sandbox; with a wrong Python, says what is wrong", async () => {
  const env = { PATH: process.env.PATH };
  const dataDir = aFolder();
  const checks = await inspectMachine({ env, settings: loadSettings(env), dataDir });
  expect(checks.map(({ name, ok }) => ({ name, ok }))).toEqual(
    ["node", "python", "bubblewrap", "isolation", "limits", "users", "outputs", "data", "open files"].map((name) => ({
      name,
      ok: true,
    })),
  );
  const wrong = { ...env, TREADLE_PYTHON: "/nowhere/python3", TREADLE_ISOLATION: "none" };
  const [, python] = await inspectMachine({ env: wrong, settings: loadSettings(wrong), dataDir });
  expect(python).toMatchObject({ ok: false, message: expect.stringContaining("TREADLE_PYTHON is /nowhere/python3") });
});
