import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { createProgramRunner } from "../../activities/program.ts";
import { createSpool, FILLED_DISK_FILE, type Spool, type SpooledResult } from "../../activities/spool.ts";
import type { ExecutionId } from "../../domain/ids.ts";
import { createExecutionId } from "../../src/ids.ts";

let dir: string;
let spool: Spool;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "treadle-spool-"));
  spool = createSpool(dir);
});

afterEach(async () => {
  await rm(dir, { recursive: true, force: true });
});

async function readLog(id: ExecutionId, ...range: [start?: number, bytesMax?: number]): Promise<string> {
  return Buffer.concat((await (await spool.readLog(id, ...range))?.toArray()) ?? []).toString();
}

const RESULT: SpooledResult = { outputs: [], logPath: undefined, logBytes: 0 };

test("readResult, before a result was written, answers undefined", async () => {
  const id = createExecutionId();
  expect(await spool.readResult(id)).toBeUndefined();
  await spool.open(id);
  expect(await spool.readResult(id)).toBeUndefined();
});

test("readResult, after a result was written, answers it, log or none", async () => {
  const [id, silent] = [createExecutionId(), createExecutionId()];
  const folder = await spool.open(id);
  const output = { name: "report", fileName: "report.pdf", path: join(folder, "report.pdf"), bytes: 3 };
  const result = { outputs: [output], logPath: spool.logPathOf(id), logBytes: 7 };
  await spool.writeResult(id, result);
  await spool.open(silent);
  await spool.writeResult(silent, RESULT);
  expect(await spool.readResult(id)).toEqual(result);
  expect(await spool.readResult(silent)).toEqual(RESULT);
});

test("a result with its outputs and log in it is read as it was written, and a further attempt goes on with its log", async () => {
  const id = createExecutionId();
  const folder = await spool.open(id);
  const output = { name: "raw", fileName: "raw.bin", path: join(folder, "outputs", "raw.bin"), bytes: 4 };
  const result = {
    ...RESULT,
    outputs: [{ ...output, content: Buffer.from([0, 255, 10, 128]) }],
    logText: "first\nsecond\n",
  };
  await spool.writeResult(id, result);
  expect(await readdir(folder)).toEqual(["result.json"]);
  expect(await spool.readResult(id)).toEqual(result);
  expect(spool.hasLog(id)).toBe(true);
  expect(await readLog(id, 6, 6)).toBe("second");

  await spool.open(id);
  expect(await readdir(folder)).toEqual(["log.ndjson"]);
  expect(await readLog(id)).toBe("first\nsecond\n");
});

test("readResult, of a result whose writing was cut short, answers undefined", async () => {
  const id = createExecutionId();
  const folder = await spool.open(id);
  await writeFile(join(folder, "result.json.tmp"), '{"outputs":');
  expect(await spool.readResult(id)).toBeUndefined();
});

test("readResult, of a result that the disk has only in part, answers undefined, and a further attempt begins", async () => {
  const id = createExecutionId();
  const folder = await spool.open(id);
  for (const text of ["", '{"outputs":', "\0\0\0\0"]) {
    await writeFile(join(folder, "result.json"), text);
    expect([await spool.readResult(id), spool.findEnd(id), spool.hasLog(id)]).toEqual([undefined, undefined, false]);
  }
  expect(await spool.open(id)).toBe(folder);
});

test("findEnd answers how a program ended while all its outputs are there, whole", async () => {
  const id = createExecutionId();
  const folder = await spool.open(id);
  const output = { name: "report", fileName: "report.pdf", path: join(folder, "report.pdf"), bytes: 3 };
  const held = { name: "n", fileName: "n.json", path: join(folder, "n.json"), bytes: 2, content: Buffer.from("{}") };
  const result = { outputs: [output, held], logPath: spool.logPathOf(id), logBytes: 7 };
  const end = { attempt: 2, outcome: { status: "failed", message: "no", secondsUsed: 1.5 } } as const;
  await spool.writeResult(id, { ...result, attempt: 2 });
  expect(spool.findEnd(id)).toBeUndefined(); // It was stopped, or an earlier version wrote it.
  await spool.writeResult(id, { ...result, ...end });
  expect(spool.findEnd(id)).toBeUndefined();
  for (const [text, found] of [
    ["pd", undefined],
    ["pdf", end],
    ["pdff", undefined],
  ] as const) {
    await writeFile(output.path, text);
    expect(spool.findEnd(id)).toEqual(found);
  }
});

test("open, for a second attempt, removes everything the first one left but its log", async () => {
  const id = createExecutionId();
  const folder = await spool.open(id);
  await writeFile(join(folder, "half-an-output"), "x");
  await mkdir(join(folder, "outputs"));
  await writeFile(spool.logPathOf(id), "a line\n");
  await spool.writeResult(id, RESULT);
  expect(await spool.open(id)).toBe(folder);
  expect(await readdir(folder)).toEqual(["log.ndjson"]);
});

test("remove, called twice, leaves nothing of this execution and all of another", async () => {
  const [id, other] = [createExecutionId(), createExecutionId()];
  await spool.open(id);
  await spool.open(other);
  await spool.remove(id);
  await spool.remove(id);
  expect(await readdir(dir)).toEqual([other]);
});

test("list, of a spool with foreign folders in it, answers executions only", async () => {
  const id = createExecutionId();
  await spool.open(id);
  await mkdir(join(dir, "lost+found"));
  expect(await spool.list()).toEqual([id]);
});

test("runProgram, of an execution that filled the disk until the service went down, fails it without running it again", async () => {
  const executionId = createExecutionId();
  await writeFile(join(await spool.open(executionId), FILLED_DISK_FILE), "");
  const run = () => Promise.reject(new Error("It was run again."));
  const { runProgram } = createProgramRunner({ spool, sandbox: { run } } as unknown as Parameters<
    typeof createProgramRunner
  >[0]);
  const work = { executionId } as Parameters<typeof runProgram>[0];
  expect(await runProgram(work, new AbortController().signal)).toEqual({
    status: "failed",
    message: "The outputs filled the disk of the machine.",
    secondsUsed: 0,
  });
  expect(await spool.readResult(executionId)).toEqual(RESULT);
  expect(spool.hasFilledDisk(executionId)).toBe(false);
});
