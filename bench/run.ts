import { mkdir, writeFile } from "node:fs/promises";
import { availableParallelism, totalmem } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { countHello } from "./counts.ts";
import { formatMs } from "./figures.ts";
import { measureHello } from "./hello.ts";
import { measureIdle } from "./idle.ts";
import { measureOutput, OUTPUT_PROGRAM } from "./output.ts";
import { makeDataDir, publish, removeDataDir, startService } from "./service.ts";
import { measureUpload } from "./upload.ts";

for (const part of ["flame", "counts"]) {
  if (!process.argv.includes(`--${part}`)) continue;
  await import(`./run-${part}.js`);
  process.exit(0);
}

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const ENGINE = fileURLToPath(new URL("./engine-program.js", import.meta.url));
const INTERPRETER = process.env.TREADLE_PYTHON ?? "/usr/bin/python3";
const ROUNDS = 200;
const IDLE_SECONDS = 60;
const UPLOAD_MEBIBYTES = 1024;
/** As much as an execution may leave. */
const OUTPUT_MEBIBYTES = 2048;

const say = (line: string): void => void process.stdout.write(`${line}\n`);
const results: Record<string, unknown> = {
  at: new Date().toISOString(),
  machine: `${availableParallelism()} cores, ${Math.round(totalmem() / 1024 ** 3)} GiB`,
  interpreter: INTERPRETER,
};

const dataDir = await makeDataDir();
say("First start (with everything it has to make) …");
const first = await startService({ dataDir });
say(`first start: ${(first.startMs / 1000).toFixed(1)} s`);
await first.stop();

const warmStarts: number[] = [];
for (let start = 0; start < 3; start += 1) {
  const service = await startService({ dataDir });
  warmStarts.push(service.startMs);
  await service.stop();
}
results.warmStartMs = warmStarts;
say(`warm start: ${warmStarts.map((ms) => `${(ms / 1000).toFixed(2)} s`).join(", ")} (goal: at most 5 s)`);

const service = await startService({ dataDir });
const idle = await measureIdle(service, IDLE_SECONDS);
results.idle = idle;
say(`idle: ${idle.percentOfOneCore.toFixed(2)} % of a core (goal: below 2 %)`);

const hello = await measureHello(service, INTERPRETER, ROUNDS);
results.hello = hello;
say(
  `hello, end to end: ${formatMs(hello.call)}; bare python3: ${formatMs(hello.bare)}; ratio ${hello.ratio.toFixed(2)} (goal: at most 5)`,
);
say(`  CPU a call, ms: ${JSON.stringify(hello.cpuMsPerCall)}`);

/** Any file, taken and forgotten. */
const sink = await publish(dataDir, "files: { type: file_list }", "def main(files):\n    return None\n");
const upload = await measureUpload(service, sink, UPLOAD_MEBIBYTES);
results.upload = upload;
say(
  `upload of ${upload.mebibytes} MiB: ${upload.status} in ${upload.seconds.toFixed(1)} s, resident memory grew by ${upload.grewMebibytes.toFixed(0)} MiB (goal: at most 64)`,
);

const producer = await publish(dataDir, "mebibytes: { type: integer }", OUTPUT_PROGRAM);
const output = await measureOutput(service, producer, OUTPUT_MEBIBYTES);
results.output = output;
say(
  `output of ${output.mebibytes} MiB: ${output.status}, ${output.kept} MiB kept in ${output.seconds.toFixed(1)} s, resident memory grew by ${output.grewMebibytes.toFixed(0)} MiB (goal: at most 64)`,
);
await service.stop();

results.counts = await countHello(dataDir, ROUNDS);
say(`counts a hello: ${JSON.stringify(results.counts)}`);

const engine = await startService({ dataDir, program: [ENGINE] });
const engineOnly = await measureHello(engine, INTERPRETER, ROUNDS);
results.engine = engineOnly;
say(
  `engine only: ${formatMs(engineOnly.call)}; bare python3: ${formatMs(engineOnly.bare)}; ratio ${engineOnly.ratio.toFixed(2)} (goal: at most 2.5)`,
);
say(`  CPU a call, ms: ${JSON.stringify(engineOnly.cpuMsPerCall)}`);
await engine.stop();
await removeDataDir(dataDir);

await mkdir(join(ROOT, "bench/results"), { recursive: true });
const file = join(ROOT, "bench/results", `${(results.at as string).slice(0, 10)}.json`);
await writeFile(file, `${JSON.stringify(results)}\n`);
say(`Raw numbers: ${file.slice(ROOT.length)}`);
