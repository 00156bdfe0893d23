import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/** `python3 main.py` of the interpreter the service uses, printing one word: what every figure is a multiple of. */
export async function openYardstick(
  interpreter: string,
): Promise<{ measureMs(): Promise<number>; close(): Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), "treadle-bench-"));
  await writeFile(join(folder, "main.py"), 'print("hello")\n');
  return {
    async measureMs() {
      const started = performance.now();
      await run(interpreter, ["main.py"], { cwd: folder, env: { PATH: "/usr/bin:/bin" } });
      return performance.now() - started;
    },
    close: () => rm(folder, { recursive: true, force: true }),
  };
}
