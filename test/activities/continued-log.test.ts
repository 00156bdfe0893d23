import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { continueLog } from "../../activities/continued-log.ts";
import { createOutputs } from "../../activities/outputs.ts";
import { createSpool, type Spool } from "../../activities/spool.ts";
import type { Db } from "../../db/connect.ts";
import { claimAttempt, type ExecutionWork, endAttempt } from "../../db/executions/attempts.ts";
import type { ExecutionId } from "../../domain/ids.ts";
import { createDiskStorage } from "../../storage/disk.ts";
import type { Storage } from "../../storage/storage.ts";
import { anExecution, aWorkflow } from "../support/builders.ts";
import { aDatabase, type TestDatabase } from "../support/postgres.ts";

let database: TestDatabase;
let db: Db;
let dir: string;
let storage: Storage;

beforeAll(async () => {
  database = await aDatabase();
  db = database.db;
  dir = await mkdtemp(join(tmpdir(), "treadle-continued-log-"));
  storage = await createDiskStorage({ dir: join(dir, "storage") });
});

afterAll(async () => {
  await database?.drop();
  await rm(dir, { recursive: true, force: true });
});

const toLog = (...ids: number[]): string => ids.map((id) => `{"id":${id},"text":"line ${id}"}\n`).join("");

/** A host with a spool of its own. Its attempts write lines, and are handed over, with or without a copy of the log, or lost. */
function aHost(hostId: string, executionId: ExecutionId) {
  const spool: Spool = createSpool(join(dir, `${executionId}-${hostId}`));
  const { keepLog } = createOutputs({ db, hostId, storage, spool });
  const begin = async (): Promise<ExecutionWork> => {
    const claim = { executionId, hostId, processId: `proc_${hostId}`, leaseSeconds: 60, lostMax: 3 };
    const claimed = await claimAttempt(db, claim);
    if (claimed.kind !== "claimed") throw new Error(`It is ${claimed.kind}.`);
    await spool.open(executionId);
    return claimed.work;
  };
  return {
    /** Returns where the attempt's own lines begin, and what the log has before them. */
    async run(lines: number, end: "handed_over" | "handed_over_late" | "lost") {
      const { attempt, ...work } = await begin();
      const start = await continueLog({ spool, storage, hostId }, { attempt, ...work });
      const path = spool.logPathOf(executionId);
      const before = await readFile(path, "utf8").catch(() => "");
      const last = Number(/"id":(\d+)[^\n]*\n$/.exec(before)?.[1] ?? 0);
      const from = Math.max(last, start?.idsAfter ?? 0) + 1;
      await writeFile(path, before + toLog(...Array.from({ length: lines }, (_, index) => from + index)));
      if (end === "handed_over") await keepLog(executionId);
      const handedOver = end !== "lost";
      await endAttempt(db, { executionId, attempt, processId: `proc_${hostId}`, outcome: null, handedOver });
      return { from, before };
    },
  };
}

test("the log of an execution that goes from host to host has the lines of each that was handed over, and room for those of the others", async () => {
  const executionId = await anExecution(db, { workflow: await aWorkflow(db) });
  const [one, two] = [aHost("one", executionId), aHost("two", executionId)];
  expect(await one.run(2, "handed_over")).toEqual({ from: 1, before: "" });
  expect(await two.run(2, "handed_over")).toEqual({ from: 3, before: toLog(1, 2) });
  expect(await one.run(2, "lost")).toEqual({ from: 5, before: toLog(1, 2, 3, 4) });
  // The kept log ends with an attempt before the lost one.
  expect(await two.run(1, "handed_over_late")).toEqual({ from: 3_000_001, before: toLog(1, 2, 3, 4) });
  expect(await one.run(1, "handed_over")).toEqual({ from: 4_000_001, before: toLog(1, 2, 3, 4, 5, 6) });
  expect(await two.run(0, "lost")).toEqual({
    from: 4_000_002,
    before: toLog(1, 2, 3, 4, 5, 6, 3_000_001, 4_000_001),
  });
});
