import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { announceWhenReady, type ReadyFile } from "../../src/start/ready-file.ts";

const CONTENT: ReadyFile = {
  url: "https://localhost:1",
  apiUrl: "https://localhost:1/api",
  local: { url: "https://localhost:1", serverName: null },
  caFile: "/ca.pem",
  temporalUiUrl: null,
  signIn: { email: "a@b", password: "p" },
  workflows: {},
  pid: 1,
};
let dataDir: string;

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), "treadle-ready-"));
});

afterEach(() => rm(dataDir, { recursive: true, force: true }));

function announce(answers: boolean[], onLate: (error: unknown) => void = () => undefined) {
  const isReady = async (): Promise<boolean> => answers.shift() ?? false;
  return announceWhenReady({ dataDir, content: CONTENT, isReady, onLate, askAgainMs: 5 });
}

test("announceWhenReady, of a service that is ready, has written the file when it resolves, and takes it away again", async () => {
  const withdraw = await announce([true]);
  expect(await readdir(dataDir)).toEqual(["ready.json"]);
  await withdraw();
  expect(await readdir(dataDir)).toEqual([]);
});

test("announceWhenReady, of a service that is ready only when asked a third time, writes the file then", async () => {
  const late = new Promise<unknown>((resolve) => {
    void announce([false, false, true], resolve);
  });
  expect(await readdir(dataDir)).toEqual([]);
  expect(await late).toBeUndefined();
  expect(await readdir(dataDir)).toEqual(["ready.json"]);
});

test("announceWhenReady, withdrawn before the service was ready, asks no more and leaves no file", async () => {
  const answers = [false, false, ...Array<boolean>(50).fill(true)];
  const withdraw = await announce(answers);
  await withdraw();
  const left = answers.length;
  await sleep(50);
  expect(answers).toHaveLength(left);
  expect(await readdir(dataDir)).toEqual([]);
});
