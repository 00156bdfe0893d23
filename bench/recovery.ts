import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { request } from "undici";
import { listTree } from "../sandbox/process-tree.ts";
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
    const pid = await findTemporal(service.ready.pid);
    const call = service.call(workflow, { seconds }).then((answer) => ({ answer, at: performance.now() }));
    await sleep(seconds * 1000 - KILL_BEFORE_END_MS);
    process.kill(pid, "SIGKILL");
    const killedAt = performance.now();
    while (await isRunning(pid)) await sleep(1);
    const backAt = await waitForTemporal(service);
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

async function waitForTemporal({ ready, agent, dataDir }: BenchService): Promise<number> {
  const token = (await readFile(join(dataDir, "keys/operator-token"), "utf8")).trim();
  const headers = { authorization: `Bearer ${token}` };
  for (;;) {
    const url = `${ready.temporalUiUrl}/api/v1/namespaces/default`;
    const { statusCode, body } = await request(url, { dispatcher: agent, headers });
    await body.dump();
    if (statusCode === 200) return performance.now();
    await sleep(ASK_EVERY_MS);
  }
}

async function isRunning(pid: number): Promise<boolean> {
  return (await readdir(`/proc/${pid}/task`).catch(() => [])).length > 0;
}

/** The server below the service. */
async function findTemporal(root: number): Promise<number> {
  for (const pid of listTree(root)) {
    const [program = ""] = (await readFile(`/proc/${pid}/cmdline`, "latin1").catch(() => "")).split("\0");
    if (/\/temporal[^/]*$/.test(program)) return pid;
  }
  throw new Error("The service has no Temporal below it.");
}
