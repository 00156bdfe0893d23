import { mkdir, stat, writeFile } from "node:fs/promises";
import { availableParallelism, totalmem } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { openCpuMeter } from "./cpu-meter.ts";
import { formatMs } from "./figures.ts";
import {
  measureCpu,
  measureEndurance,
  measureFirst,
  measureInTurn,
  measureLaneBytes,
  measureRates,
  PANDAS,
  TRIVIAL,
} from "./lanes.ts";
import { findEnvironment, openSandbox } from "./sandbox.ts";
import { makeDataDir, removeDataDir, startService } from "./service.ts";
import { measureStorm } from "./storm.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const INTERPRETER = process.env.TREADLE_BENCH_PYTHON ?? "/usr/bin/python3.11";
const ENDURANCE = Number(process.env.TREADLE_BENCH_ENDURANCE ?? 20_000);
const MIB = 1024 * 1024;

const say = (line: string): void => void process.stdout.write(`${line}\n`);
const results: Record<string, unknown> = {
  at: new Date().toISOString(),
  machine: `${availableParallelism()} cores, ${Math.round(totalmem() / 1024 ** 3)} GiB`,
  interpreter: INTERPRETER,
};

const readCpuMs = openCpuMeter();
const dataDir = await makeDataDir();
say("Building the environment of sales-report, for its pandas …");
await (await startService({ dataDir })).stop();
const environmentDir = await findEnvironment(dataDir);
/** Whom the service runs programs as. */
const user = await stat(environmentDir);

const sandbox = await openSandbox(INTERPRETER, user);
const trivialCommit = await sandbox.addCommit(TRIVIAL);
const trivial = await measureInTurn({ interpreter: INTERPRETER, commit: trivialCommit, rounds: 400 });
results.trivial = trivial;
say(`trivial, in a lane: ${formatMs(trivial.lane)}; bare: ${formatMs(trivial.bare)}`);
say(
  `  ratios: p50 ${trivial.ratios.p50.toFixed(2)} (goal: at most 0.5), p99 ${trivial.ratios.p99.toFixed(2)} (goal: at most 1.2)`,
);

const bytes = measureLaneBytes().map((each) => each / MIB);
results.laneMebibytes = bytes;
say(`a waiting lane: ${bytes.map((each) => each.toFixed(1)).join(", ")} MiB (goal: at most 25)`);

if (readCpuMs !== undefined) {
  const cpu = await measureCpu(INTERPRETER, trivialCommit, { turns: 15, rounds: 40, readMs: readCpuMs });
  results.cpu = cpu;
  say(
    `CPU an execution: ${cpu.lane.p50.toFixed(1)} ms; bare ${cpu.bare.p50.toFixed(1)} ms; ratio ${cpu.ratio.toFixed(2)} (middle half ${cpu.ratios.p25.toFixed(2)}–${cpu.ratios.p75.toFixed(2)}; goal: at most 1)`,
  );
}

const packages = join(environmentDir, "lib/python3.11/site-packages");
const pandasCommit = await sandbox.addCommit(PANDAS, { environmentDir });
const pandas = await measureInTurn({ interpreter: INTERPRETER, commit: pandasCommit, rounds: 40, packages });
results.pandas = pandas;
say(
  `pandas, in a lane: ${formatMs(pandas.lane)}; bare: ${formatMs(pandas.bare)}; ratio ${pandas.ratios.p50.toFixed(3)} (goal: at most 0.05)`,
);

const first = await measureFirst(sandbox, INTERPRETER, 30);
results.first = first;
say(
  `first execution after publishing: ${formatMs(first.warmed)}; ratio ${first.ratios.warmed.toFixed(2)} (goal: at most 1.5); cold ${first.ratios.cold.toFixed(2)}`,
);

const storm = await measureStorm(sandbox, 400);
results.storm = storm;
say(
  `beside a fork bomb, a memory hog and an output flood: ${formatMs(storm.stormy)}; alone ${formatMs(storm.quiet)}; ratio ${storm.ratio.toFixed(2)} (goal: at most 5); they ended ${JSON.stringify(storm.ends)}`,
);
await sandbox.close();

const busy = await openSandbox(INTERPRETER, user);
const busyCommit = await busy.addCommit(TRIVIAL);
await busyCommit.warm();
const rates = await measureRates(INTERPRETER, busyCommit, 7);
results.rates = rates;
say(
  `eight callers: ${rates.lane.p50.toFixed(0)} a second; bare ${rates.bare.p50.toFixed(0)}; ratio ${rates.ratio.toFixed(2)} (goal: at least 1.3)`,
);

const endurance = await measureEndurance(busyCommit, ENDURANCE);
results.endurance = endurance;
say(
  `${ENDURANCE} executions: ${endurance.rates.p25.toFixed(0)} to ${endurance.rates.p75.toFixed(0)} a second (middle half); first thousand ${endurance.first?.toFixed(0)}, last ${endurance.last?.toFixed(0)}`,
);
say(`  kept before ${JSON.stringify(endurance.before)}, after ${JSON.stringify(endurance.after)}`);
await busy.close();
for (const { remove } of [sandbox, busy]) await remove();
await removeDataDir(dataDir);

await mkdir(join(ROOT, "bench/results"), { recursive: true });
const file = join(ROOT, "bench/results", `${(results.at as string).slice(0, 10)}-lanes.json`);
await writeFile(file, `${JSON.stringify(results)}\n`);
say(`Raw numbers: ${file.slice(ROOT.length)}`);
