import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { measureOutput, OUTPUT_PROGRAM } from "../output.ts";
import { makeDataDir, publish, removeDataDir, startService } from "../service.ts";
import { measureUpload } from "../upload.ts";

const run = promisify(execFile);
const ROUNDS = 3;

/** One upload and one output of the same size, each beside `cp` of such a file; MiB a second. */
export interface FileRates {
  readonly mebibytes: number;
  readonly upload: number;
  readonly output: number;
  readonly cp: number;
  /** By which the service's resident memory grew at most. */
  readonly grewMebibytes: number;
}

/** Large files through Treadle, in turn with `cp` in the same folder. */
export async function measureFiles(mebibytes: number): Promise<FileRates[]> {
  const dataDir = await makeDataDir();
  const folder = await mkdtemp(join(tmpdir(), "treadle-bench-cp-"));
  const service = await startService({ dataDir, env: { TREADLE_EXAMPLES: "none" } });
  try {
    const sink = await publish(dataDir, "files: { type: file_list }", "def main(files):\n    return None\n");
    const producer = await publish(dataDir, "mebibytes: { type: integer }", OUTPUT_PROGRAM);
    await run("dd", ["if=/dev/urandom", "of=one", "bs=1M", `count=${mebibytes}`], { cwd: folder });
    const rates: FileRates[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const startedAt = performance.now();
      await run("cp", ["one", "two"], { cwd: folder });
      const cpSeconds = (performance.now() - startedAt) / 1000;
      const upload = await measureUpload(service, sink, mebibytes);
      const output = await measureOutput(service, producer, mebibytes);
      if (upload.status !== 200 || output.kept !== mebibytes)
        throw new Error(`The upload was answered ${upload.status}, and ${output.kept} of ${mebibytes} MiB were kept.`);
      rates.push({
        mebibytes,
        cp: mebibytes / cpSeconds,
        upload: mebibytes / upload.seconds,
        output: mebibytes / output.seconds,
        grewMebibytes: Math.max(upload.grewMebibytes, output.grewMebibytes),
      });
    }
    return rates;
  } finally {
    await service.stop();
    await removeDataDir(dataDir);
    await rm(folder, { recursive: true });
  }
}
