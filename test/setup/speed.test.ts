import { readdirSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { expect, test } from "@jest/globals";
import { measureSpeed } from "../../src/trial/speed.ts";
import { aFolder } from "./servers/surroundings.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const NEVER = new AbortController().signal;

test("measureSpeed, measures disk, Python and calls with a service of its own, and leaves nothing", async () => {
  const dataDir = aFolder();
  // What leads to the installation is not handed on: this database would not be reached.
  const env = { ...process.env, DATABASE_URL: "postgres://127.0.0.1:1/no", TREADLE_TLS_CERT: "/no/such/file" };
  const figures = await measureSpeed({ env, checkout: ROOT, dataDir, signal: NEVER });
  expect(figures.map(({ name, unit }) => [name, unit])).toEqual([
    ["disk", "ms"],
    ["python3 main.py", "ms"],
    ["hello, one caller", "times a bare start"],
    ["hello, 8 callers", "a second"],
  ]);
  expect(Math.min(...figures.map(({ value }) => value))).toBeGreaterThan(0);
  expect(readdirSync(dataDir)).toEqual([]);
});

test("measureSpeed, where no service can start or it is stopped, says why and leaves nothing", async () => {
  const dataDir = aFolder();
  const lacking = { ...process.env, TREADLE_PYTHON: "/no/such/python" };
  const failed = measureSpeed({ env: lacking, checkout: ROOT, dataDir, signal: NEVER });
  await expect(failed).rejects.toThrow(/^Nothing could be measured: TREADLE_PYTHON is \/no\/such\/python/);
  const stop = new AbortController();
  const stopped = measureSpeed({ env: process.env, checkout: ROOT, dataDir, signal: stop.signal });
  await sleep(1_500);
  stop.abort(new Error("Stopped."));
  await expect(stopped).rejects.toThrow("Stopped.");
  expect(readdirSync(dataDir)).toEqual([]);
});
