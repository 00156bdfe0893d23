import { readdir, readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { Connection } from "@temporalio/client";
import { listTree } from "../activities/sandbox/process-tree.ts";
import { toFigure } from "./figures.ts";
import type { BenchService, Published } from "./service.ts";

const ASK_EVERY_MS = 10;
/** A server that ends soon after its start is started again later and later. */
const SETTLE_MS = 12_000;
const KILL_BEFORE_END_MS = 500;

/** Ends while Temporal is away. */
export const SHORT_PROGRAM = `import time
def main(seconds):
    time.sleep(seconds)
    return {"slept": seconds}
`;

/**
 * How long a waiting client waits for its result beyond Temporal's own way back: Temporal is killed while a program runs,
 * the program ends meanwhile, and from the first call that Temporal answers again the time runs.
 */
export async function measureRecovery(
  service: BenchService,
  workflow: Published,
  { seconds, rounds }: { seconds: number; rounds: number },
) {
  const [late, away]: [number[], number[]] = [[], []];
  const statuses = new Set<number>();
  for (let round = 0; round < rounds; round++) {
    await sleep(SETTLE_MS);
    await service.call(workflow, { seconds: 0 });
    const { pid, address } = await findTemporal(service.ready.pid);
    const call = service.call(workflow, { seconds }).then((answer) => ({ answer, at: performance.now() }));
    await sleep(seconds * 1000 - KILL_BEFORE_END_MS);
    process.kill(pid, "SIGKILL");
    const killedAt = performance.now();
    while (await isRunning(pid)) await sleep(1);
    const backAt = await waitForTemporal(address);
    const { answer, at } = await call;
    statuses.add(answer.status);
    late.push(Math.max(0, at - backAt));
    away.push(backAt - killedAt);
  }
  return {
    late: toFigure(late),
    away: toFigure(away),
    worst: Math.max(...late),
    statuses: [...statuses],
    raw: { late, away },
  };
}

async function waitForTemporal(address: string): Promise<number> {
  for (;;) {
    try {
      const connection = await Connection.connect({ address, connectTimeout: 1_000 });
      await connection.workflowService.describeNamespace({ namespace: "default" });
      await connection.close();
      return performance.now();
    } catch {
      await sleep(ASK_EVERY_MS);
    }
  }
}

async function isRunning(pid: number): Promise<boolean> {
  return (await readdir(`/proc/${pid}/task`).catch(() => [])).length > 0;
}

/** The server below the service, and where it listens, as its command line says. */
async function findTemporal(root: number): Promise<{ pid: number; address: string }> {
  for (const pid of listTree(root)) {
    const words = (await readFile(`/proc/${pid}/cmdline`, "latin1").catch(() => "")).split("\0");
    const port = words[words.indexOf("--port") + 1];
    if (words[0]?.includes("temporal") === true && port !== undefined) return { pid, address: `127.0.0.1:${port}` };
  }
  throw new Error("The service has no Temporal below it.");
}
