import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { runCommand } from "../../src/setup/servers/command.ts";
import { findUv, UV_VERSION, type UvOptions } from "../../src/setup/uv.ts";
import { aFolder, aProgram, IS_ROOT, RUN_AS } from "./servers/surroundings.ts";

const reports: string[] = [];
const CACHED = `uv-${UV_VERSION}-${process.platform}-${process.arch}`;

function places() {
  const options = { cacheDir: join(aFolder(), "cache"), runtimeDir: aFolder() };
  chmodSync(options.runtimeDir, 0o755);
  return options;
}

function find(options: Partial<UvOptions> & { cacheDir: string; runtimeDir: string }) {
  return findUv({
    env: {},
    pythonPath: "/nowhere/python",
    runAs: RUN_AS,
    report: (line) => reports.push(line),
    run: runCommand,
    now: Date.now,
    ...options,
  });
}

/** A Python whose pip is of this version and "installs" a uv, or fails with these words; it writes down how it was called. */
function aPip(version: string, failure?: string) {
  const folder = aFolder();
  const calls = join(folder, "calls");
  const install = `while [ "$1" != --target ]; do shift; done; mkdir -p "$2/bin"; printf '#!/bin/sh\\necho uv ${UV_VERSION}\\n' > "$2/bin/uv"; chmod +x "$2/bin/uv"`;
  const body = `case "$*" in *--version) echo "pip ${version} from /x (python 3.11)";; *) echo "$* index=$PIP_INDEX_URL" >> ${calls}; ${failure === undefined ? install : `echo '${failure}' >&2; exit 1`};; esac`;
  return {
    python: aProgram(join(folder, "python3"), body),
    calls: () => (existsSync(calls) ? readFileSync(calls, "utf8").trim().split("\n") : []),
  };
}

test("findUv, with one on the PATH that the unprivileged user can execute, takes it", async () => {
  const folder = aFolder();
  const path = aProgram(join(folder, "uv"), "echo uv 0.9.9");
  expect(await find({ ...places(), env: { PATH: folder } })).toEqual({ path });
});

test("findUv, without one, installs the pinned version as a wheel with the machine's own pip settings, once", async () => {
  const place = places();
  const pip = aPip("23.0.1");
  const env = { PIP_INDEX_URL: "https://mirror.example/simple" };
  const first = await find({ ...place, env, pythonPath: pip.python });
  expect(first?.path.startsWith(place.cacheDir) || first?.path.startsWith(place.runtimeDir)).toBe(true);
  expect(pip.calls()).toHaveLength(1);
  expect(pip.calls()[0]).toMatch(
    new RegExp(`--only-binary :all: .*uv==${UV_VERSION} .*--retries 0.* index=https://mirror.example/simple`),
  );
  expect(readdirSync(place.cacheDir)).toEqual([CACHED]);

  expect(await find({ ...place, env, pythonPath: pip.python })).toEqual(first);
  expect(pip.calls()).toHaveLength(1);
});

test("findUv, when the cache is closed to the unprivileged user, gives it a copy it can execute", async () => {
  if (!IS_ROOT) return expect(RUN_AS).toBeUndefined();
  const place = places();
  mkdirSync(place.cacheDir, { mode: 0o700 });
  aProgram(join(place.cacheDir, CACHED), `echo uv ${UV_VERSION}`);
  const found = await find(place);
  expect(found).toEqual({ path: join(place.runtimeDir, `uv-${UV_VERSION}`) });
  expect(await runCommand(found?.path ?? "", ["--version"], { env: {}, runAs: RUN_AS })).toMatchObject({ code: 0 });
});

test("findUv, when the index cannot be reached, answers none without the password in its address, and asks again after an hour only", async () => {
  const place = places();
  const pip = aPip(
    "24.1",
    "ERROR: No matching distribution found for uv (from https://ada:secret@mirror.example/simple)",
  );
  reports.length = 0;
  const now = Date.now();
  expect(await find({ ...place, pythonPath: pip.python, now: () => now })).toBeUndefined();
  expect(reports.join()).toContain("environments are built with pip");
  expect(reports.join()).toContain("https://mirror.example");
  expect(reports.join()).not.toContain("secret");
  expect(readdirSync(place.cacheDir)).toEqual([`${CACHED}.failed`]);

  expect(await find({ ...place, pythonPath: pip.python, now: () => now })).toBeUndefined();
  expect(pip.calls()).toHaveLength(1);
  await find({ ...place, pythonPath: pip.python, now: () => now + 3_700_000 });
  expect(pip.calls()).toHaveLength(2);
});

test("findUv, with a pip older than 22.3 at the interpreter, uses a newer one on the PATH", async () => {
  const place = places();
  const [old, recent] = [aPip("20.3.4"), aPip("23.2")];
  await find({ ...place, pythonPath: old.python, env: { PATH: join(recent.python, "..") } });
  expect(old.calls()).toHaveLength(0);
  expect(recent.calls()).toHaveLength(1);
});

test("findUv, when the cached program is damaged, installs it anew", async () => {
  const place = places();
  mkdirSync(place.cacheDir);
  writeFileSync(join(place.cacheDir, CACHED), "half", { mode: 0o755 });
  const pip = aPip("23.0.1");
  await find({ ...place, pythonPath: pip.python });
  expect(pip.calls()).toHaveLength(1);
  expect(statSync(join(place.cacheDir, CACHED)).size).toBeGreaterThan(4);
});
