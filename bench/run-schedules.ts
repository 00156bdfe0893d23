import { mkdir, writeFile } from "node:fs/promises";
import { availableParallelism, totalmem } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { measureIdle, waitUntilQuiet } from "./idle.ts";
import { readTree } from "./processes.ts";
import { type Burst, openSchedules } from "./schedules.ts";
import { makeDataDir, removeDataDir, startService } from "./service.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const ENGINE = fileURLToPath(new URL("./engine-program.js", import.meta.url));
const SCHEDULES = Number(process.env.TREADLE_BENCH_SCHEDULES ?? 10_000);
const BURSTS = (process.env.TREADLE_BENCH_BURSTS ?? "100,1000,5000").split(",").map(Number);
const IDLE_SECONDS = 60;
/** Due once a year, half a year from now: nothing fires while it is measured. */
const FAR = new Date(Date.now() + 183 * 86_400_000);
const FAR_CRON = `0 0 1 ${FAR.getUTCMonth() + 1} *`;
/** From the last commit to the minute. */
const LEAD_MS = 20_000;

const say = (line: string): void => void process.stdout.write(`${line}\n`);
const at = new Date().toISOString();
const results: Record<string, unknown> = {
  at,
  machine: `${availableParallelism()} cores, ${Math.round(totalmem() / 1024 ** 3)} GiB`,
};

const dataDir = await makeDataDir();
const service = await startService({ dataDir, program: [ENGINE] });
const schedules = await openSchedules(service);

const before = await measureIdle(service, IDLE_SECONDS);
const created = await schedules.create(SCHEDULES, FAR_CRON);
say(
  `${SCHEDULES} schedules: published in ${created.publishedSeconds.toFixed(0)} s, all in Temporal after ${created.seconds.toFixed(0)} s (goal: at most 120 s for 10,000)`,
);
// Each schedule is a Workflow Execution of Temporal's own, which begins after it has answered.
const quietSeconds = await waitUntilQuiet(service);
const idle = await measureIdle(service, IDLE_SECONDS);
say(
  `idle with them, ${quietSeconds.toFixed(0)} s later: ${idle.percentOfOneCore.toFixed(2)} % of a core, without ${before.percentOfOneCore.toFixed(2)} % (goal: below 2 % for them)`,
);
results.created = {
  count: SCHEDULES,
  publishedSeconds: created.publishedSeconds,
  seconds: created.seconds,
  quietSeconds,
};
results.idle = { before, with: idle };

const bursts: (Burst & { count: number; cpuSeconds: Record<string, number> })[] = [];
/** Commits a second so far; the minute is chosen so that all are told before it. */
let pace = created.seconds / SCHEDULES;
for (const count of BURSTS) {
  const ids = created.ids.slice(0, count);
  const readyAt = Date.now() + count * pace * 2_500 + LEAD_MS;
  const dueAt = new Date(Math.ceil(readyAt / 60_000) * 60_000);
  const changed = await schedules.change(ids, `${dueAt.getUTCMinutes()} ${dueAt.getUTCHours()} * * *`);
  pace = changed.seconds / count;
  say(
    `${count} changed by a commit each: ${changed.seconds.toFixed(0)} s; Temporal was told of ${changed.told} schedules`,
  );
  if (Date.now() > dueAt.getTime() - 2_000) throw new Error("The minute came before all schedules were changed.");
  await sleep(dueAt.getTime() - Date.now() - 1_000);
  const cpuBefore = await readTree(service.ready.pid);
  const burst = await schedules.judge(ids, dueAt);
  const cpuAfter = await readTree(service.ready.pid);
  const cpuSeconds = Object.fromEntries(
    [...cpuAfter]
      .map(([name, used]) => [name, used - (cpuBefore.get(name) ?? 0)] as const)
      .filter(([, used]) => used > 1),
  );
  bursts.push({ count, ...burst, cpuSeconds });
  say(
    `${count} due at one minute: ${JSON.stringify(burst.outcomes)}, ${burst.executions} executions; started after p50 ${burst.started.p50.toFixed(1)} s, the last after ${burst.lastStarted.toFixed(1)} s (goal for 1,000: at most 15 s; for 10,000: 150 s), all over after ${burst.lastOver.toFixed(1)} s; ${burst.repaired} not fired by Temporal in time`,
  );
  say(`  CPU, s: ${JSON.stringify(cpuSeconds)}`);
}
results.bursts = bursts;

await schedules.close();
await service.stop();
await removeDataDir(dataDir);
const file = join(ROOT, "bench/results", `${at.slice(0, 10)}-schedules.json`);
await mkdir(join(ROOT, "bench/results"), { recursive: true });
await writeFile(file, `${JSON.stringify(results)}\n`);
say(`Raw numbers: bench/results/${at.slice(0, 10)}-schedules.json`);
