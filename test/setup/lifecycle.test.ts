import { spawn } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { expect, test } from "@jest/globals";
import { outliveRejections } from "../../src/start/lifecycle.ts";

test("outliveRejections, of a promise that nothing handles, logs it as a fault and ends nothing", () => {
  const events = new EventEmitter();
  const lines: unknown[] = [];
  outliveRejections(events as unknown as NodeJS.Process, { error: (facts: object) => void lines.push(facts) });
  const error = new Error("Nobody waited for this.");
  expect(events.emit("unhandledRejection", error)).toBe(true);
  expect(lines).toEqual([{ event: "fault", error }]);
});

test("endProcess, of a process whose clean-up never ends, has it killed, and leaves the code of one whose does", async () => {
  const loader = new URL("../support/typescript-threads.mjs", import.meta.url).href;
  const lifecycle = new URL("../../src/start/lifecycle.ts", import.meta.url).href;
  const endOf = (cleanUp: string) => {
    const code = `process.on("exit", () => { ${cleanUp} }); import("${lifecycle}").then((it) => it.endProcess(7))`;
    return once(spawn(process.execPath, ["--import", loader, "-e", code], { stdio: "ignore" }), "exit");
  };
  const forEver = "Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)";
  expect(await Promise.all([endOf(forEver), endOf("")])).toEqual([
    [null, "SIGKILL"],
    [7, null],
  ]);
});
