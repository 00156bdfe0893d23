import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { loadSettings } from "../../src/config.ts";
import { openHost } from "../../src/host-programs.ts";
import { createLog } from "../../src/log.ts";
import type { Machine } from "../../src/setup/machine.ts";
import { findInterpreter, LIMITS, UNPRIVILEGED, writeFolder } from "../runner/harness.ts";
import { aFolder, afterwards, IS_ROOT } from "./servers/surroundings.ts";

/** What programs run in on a machine like this one, with what is changed of it. */
async function aHost(change: Partial<Machine>) {
  const folder = aFolder();
  const path = (name: string) => {
    mkdirSync(join(folder, name));
    return join(folder, name);
  };
  const interpreter = findInterpreter();
  const machine = {
    env: {},
    paths: { runner: join(folder, "runner"), lanes: path("lanes"), trash: path("trash") },
    python: interpreter,
    bwrapPath: "/usr/bin/bwrap",
    problems: [],
    runAs: IS_ROOT ? UNPRIVILEGED : undefined,
    sandboxUsers: { users: undefined, message: "" },
    runDisks: { problem: "not asked for" },
    network: undefined,
    ...change,
  } as unknown as Machine;
  const host = await openHost({
    settings: loadSettings({}),
    machine,
    log: createLog({ level: "error", terminal: false }),
  });
  afterwards(host.close);
  const run = () =>
    host.sandbox.run({
      ...{ executionId: "ex_1", environmentDir: null, entrypoint: "main.py", inputs: {}, kinds: {}, files: [] },
      commitDir: writeFolder(join(folder, "commit"), { "main.py": "print(1)" }),
      spoolDir: path("spool"),
      ...{ declaredOutputs: null, limits: LIMITS },
    });
  return { ...host, run };
}

test("openHost, where sandboxes hold, runs programs", async () => {
  const host = await aHost({});
  expect(host.isolationProblems).toEqual([]);
  expect((await host.run()).outcome.status).toBe("success");
});

test("openHost, where what sandboxes are made with is missing, runs no program and says why", async () => {
  const host = await aHost({ problems: ["There is no bubblewrap."] });
  const reason = "Programs are not run on this host: There is no bubblewrap.";
  await expect(host.run()).rejects.toThrow(reason);
  expect(await host.sandbox.warm({} as never)).toEqual({ warm: false, reason });
});
