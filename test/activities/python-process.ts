import { MockActivityEnvironment } from "@temporalio/testing";
import { createPython, type PythonDeps } from "../../activities/python.ts";
import type { Spool } from "../../activities/spool.ts";
import type { Db } from "../../db/connect.ts";
import { microCredits, type Prices } from "../../domain/credits.ts";
import type { PythonOutcome, PythonProgress } from "../../domain/execution.ts";
import type { AccountId, ExecutionId } from "../../domain/ids.ts";
import type { Manifest } from "../../domain/manifest/manifest.ts";
import { createSlots, type Slots } from "../../system/slots.ts";
import { anAccount, anExecution, aWorkflow } from "../support/builders.ts";

export const success: PythonOutcome = { status: "success", message: "", secondsUsed: 0.5 };

export const PRICES: Prices = { perCpuSecond: microCredits(10_000), perExecution: microCredits(1_000) };

/** Of an account of its own; an attempt of it may cost 3.001 credits. */
export async function anOpenExecution(
  db: Db,
  attemptsMax = 1,
  { credits = 100_000_000n, ...manifest }: Partial<Manifest> & { credits?: bigint } = {},
): Promise<ExecutionId> {
  const accountId = await anAccount(db, { microCredits: credits });
  return anExecution(db, { workflow: await aWorkflow(db, { accountId, manifest }), attemptsMax });
}

/** A process, of host `host1` where no other is named, whose programs are a plain function, counted. */
export function createProcess(
  db: Db,
  runProgram: PythonDeps["runProgram"],
  {
    processId = "proc_a",
    hostId = "host1",
    slots = createSlots({ count: 4 }),
    spool,
  }: { processId?: string; hostId?: string; slots?: Slots; spool?: Spool } = {},
) {
  const started: number[] = [];
  const faults: unknown[] = [];
  const python = createPython({
    db,
    hostId,
    processId,
    slots,
    ...(spool && { spool }),
    prices: PRICES,
    runProgram: (work, signal, onStarted) => {
      started.push(work.attempt);
      return runProgram(work, signal, onStarted);
    },
    onError: (_id, error) => faults.push(error),
  });
  const execute = (executionId: ExecutionId, waitSeconds?: number, accountId?: AccountId): Promise<PythonProgress> =>
    new MockActivityEnvironment().run(python.executePython, {
      executionId,
      ...(accountId === undefined ? {} : { accountId }),
      ...(waitSeconds === undefined ? {} : { waitSeconds }),
    });
  return { python, execute, started, faults };
}

/** A program that ends when it is told to, or when it is stopped. */
export function aProgram(): { runProgram: PythonDeps["runProgram"]; end: (outcome: PythonOutcome) => void } {
  let end: (outcome: PythonOutcome) => void = () => undefined;
  const ended = new Promise<PythonOutcome>((resolve) => {
    end = resolve;
  });
  const runProgram: PythonDeps["runProgram"] = (_work, signal) =>
    Promise.race([
      ended,
      new Promise<PythonOutcome>((resolve) =>
        signal.addEventListener("abort", () => resolve({ status: "cancelled", message: "stopped", secondsUsed: 0.1 })),
      ),
    ]);
  return { runProgram, end: (outcome) => end(outcome) };
}

export async function hasStarted({ started }: Pick<ReturnType<typeof createProcess>, "started">): Promise<void> {
  while (started.length === 0) await tick(5);
}

export const tick = (ms = 50): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
