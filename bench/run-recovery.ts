import { mkdir, writeFile } from "node:fs/promises";
import { availableParallelism, totalmem } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { formatMs } from "./figures.ts";
import { measureRecovery, SHORT_PROGRAM } from "./recovery.ts";
import { makeDataDir, publish, removeDataDir, startService } from "./service.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const ROUNDS = Number(process.env.TREADLE_BENCH_ROUNDS ?? 10);

const at = new Date().toISOString();
const machine = `${availableParallelism()} cores, ${Math.round(totalmem() / 1024 ** 3)} GiB`;
const dataDir = await makeDataDir();
const service = await startService({ dataDir });
const workflow = await publish(dataDir, "seconds: { type: number }", SHORT_PROGRAM);
const results: Record<string, unknown> = { at, machine };
/** A program that is over before it is joined by a second activity, and one that is not. */
for (const [name, seconds] of [
  ["short", 1],
  ["long", 5],
] as const) {
  const recovery = await measureRecovery(service, workflow, { seconds, rounds: ROUNDS });
  results[name] = recovery;
  process.stdout.write(
    `${name}: result after Temporal is back from SIGKILL: ${formatMs(recovery.late)}, at most ${recovery.worst.toFixed(0)} ms (goal: at most 1,000 ms); it was away for ${formatMs(recovery.away)}; answers ${recovery.statuses.join(", ")}\n`,
  );
}
await service.stop();
await removeDataDir(dataDir);
const file = join(ROOT, "bench/results", `${at.slice(0, 10)}-recovery.json`);
await mkdir(join(ROOT, "bench/results"), { recursive: true });
await writeFile(file, `${JSON.stringify(results)}\n`);
