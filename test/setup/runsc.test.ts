import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { loadSettings } from "../../src/config.ts";
import { findRuntime } from "../../src/setup/runsc.ts";
import { runCommand } from "../../src/setup/servers/command.ts";
import { inspectMachine } from "../../src/start/inspection.ts";
import { aFolder, aProgram, RUN_AS } from "./servers/surroundings.ts";

const find = (wanted: string, path = "/nowhere") =>
  findRuntime({
    settings: loadSettings({ TREADLE_SANDBOX_RUNTIME: wanted }),
    env: { PATH: path },
    runAs: RUN_AS,
    run: runCommand,
  });

function aRunsc(): string {
  return aProgram(join(aFolder(), "runsc"), "echo runsc version release-20260905.0\necho spec: 1.1.0-rc.1");
}

test("findRuntime, of bubblewrap, looks for nothing", async () => {
  expect(await find("bubblewrap")).toEqual({ kind: "bubblewrap" });
});

test("findRuntime, of runsc on PATH and of its path, finds it with its version", async () => {
  const runscPath = aRunsc();
  const found = { kind: "gvisor", runscPath, version: "release-20260905.0" };
  expect(await find("runsc", join(runscPath, ".."))).toEqual(found);
  expect(await find(runscPath)).toEqual(found);
});

test.each([
  ["that is not there", () => "/nowhere/runsc"],
  ["that is another program", () => aProgram(join(aFolder(), "runsc"), "echo runc version 1.2")],
  ["that fails", () => aProgram(join(aFolder(), "runsc"), "echo runsc version 1; exit 1")],
])("findRuntime, of a path %s, says so and what to do", async (_, make) => {
  const path = make();
  expect(await find(path)).toEqual({
    kind: "missing",
    problem: expect.stringMatching(
      /^TREADLE_SANDBOX_RUNTIME is \/.*, but it is no runsc that (this user|user \d+) can start\. .*go install gvisor\.dev/,
    ),
  });
});

test("settings, with gVisor and without isolation, are refused, and so is a runtime of another name", () => {
  const load = (env: Record<string, string>) => () => loadSettings(env);
  expect(load({ TREADLE_ISOLATION: "none", TREADLE_SANDBOX_RUNTIME: "runsc" })).toThrow(
    /needs TREADLE_ISOLATION=sandbox/,
  );
  expect(load({ TREADLE_SANDBOX_RUNTIME: "runc" })).toThrow(/must be bubblewrap, runsc or the absolute path/);
  expect(loadSettings({}).TREADLE_SANDBOX_RUNTIME).toBe("bubblewrap");
});

test("inspectMachine, with gVisor, says which runsc and what there is not in it, or that it is missing", async () => {
  const runscPath = aRunsc();
  const inspect = async (wanted: string) => {
    const env = { PATH: process.env["PATH"], TREADLE_SANDBOX_RUNTIME: wanted };
    const checks = await inspectMachine({ env, settings: loadSettings(env), dataDir: join(aFolder(), "data") });
    return checks.find(({ name }) => name === "gvisor");
  };
  expect(await inspect(runscPath)).toEqual({
    name: "gvisor",
    ok: true,
    message: `runsc release-20260905.0 (${runscPath}): every program starts cold in gVisor; no lanes, no network`,
  });
  expect(await inspect("/nowhere/runsc")).toMatchObject({ ok: false, message: expect.stringContaining("go install") });
  expect(await inspect("bubblewrap")).toBeUndefined();
});
