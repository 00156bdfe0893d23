import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { AccountId } from "../../domain/ids.ts";
import type { Python } from "../../environments/lock.ts";
import type { Runtimes } from "../../sandbox/runtimes.ts";
import type { Sandbox, SandboxLimits } from "../../sandbox/sandbox.ts";
import { createSlots } from "../../system/slots.ts";

/** Readers at the same time, and of one account: what an account sends must not keep the others waiting. */
const READERS = { count: 2, perAccountMax: 1 };
const MEGABYTE = 1024 * 1024;
/** Far above what honest sources take: a thousand usual files are compiled in a second or two. */
const LIMITS: Partial<SandboxLimits> = {
  timeoutSeconds: 30,
  memoryBytes: 1024 * MEGABYTE,
  cpu: 1,
  processes: 16,
  scratchBytes: 64 * MEGABYTE,
  fileBytesMax: 8 * MEGABYTE,
  outputBytesMax: 8 * MEGABYTE,
  outputFilesMax: 4,
  logBytesMax: 64 * 1024,
};

export interface SourceReaderDeps {
  readonly sandbox: Pick<Sandbox, "run">;
  readonly runtimes: Pick<Runtimes, "prepare">;
  /** What an execution may use at most on this installation. */
  readonly ceilings: SandboxLimits;
  /** Where each reading has its folder; users of sandboxes can pass it. */
  readonly dir: string;
}

/** What a program of ours is to read. */
export interface Reading {
  /** Its `main(source)` gets the path of a file with `source`, and returns what `answer` becomes. */
  readonly program: string;
  readonly source: Buffer;
  readonly python: Python;
  readonly owner: AccountId;
}

/** `answer` is what left the sandbox: to be parsed like anything else of a stranger. */
export type ReadingResult =
  | { readonly ok: true; readonly answer: unknown }
  /** The program reached a limit, or its interpreter died. */
  | { readonly ok: false; readonly message: string };

export type ReadSource = (reading: Reading) => Promise<ReadingResult>;

/**
 * Returns what reads sources of strangers with a Python program of ours, which parses them and never runs them. Parsers have
 * had bugs that a hostile source could use, so it happens in a sandbox as executions have, with the Python of the workflow.
 */
export function createSourceReader({ sandbox, runtimes, ceilings, dir }: SourceReaderDeps): ReadSource {
  const slots = createSlots(READERS);
  const limits = Object.fromEntries(
    Object.entries(ceilings).map(([name, ceiling]: [string, number]) => [
      name,
      Math.min(ceiling, LIMITS[name as keyof SandboxLimits] ?? ceiling),
    ]),
  ) as unknown as SandboxLimits;
  let readings = 0;

  return async ({ program, source, python, owner }) => {
    const id = `reading-${process.pid}-${(readings += 1)}`;
    const release = await slots.take({ accountId: owner, id });
    const folder = await mkdtemp(join(dir, "reading-"));
    try {
      const [commitDir, spoolDir] = [join(folder, "commit"), join(folder, "spool")];
      for (const path of [commitDir, spoolDir]) await mkdir(path);
      for (const path of [folder, commitDir, spoolDir]) await chmod(path, 0o755); // with any umask
      const [programPath, sourcePath] = [join(commitDir, "reader.py"), join(folder, "source")];
      await Promise.all([writeFile(programPath, program), writeFile(sourcePath, source)]);
      for (const path of [programPath, sourcePath]) await chmod(path, 0o644);
      const { outcome, outputs } = await sandbox.run({
        executionId: id,
        accountId: owner,
        commitDir,
        spoolDir,
        environmentDir: null,
        entrypoint: "reader.py",
        runtime: await runtimes.prepare(python),
        inputs: {},
        kinds: { source: "file" },
        files: [{ input: "source", list: false, files: [{ path: sourcePath, fileName: "source" }] }],
        declaredOutputs: ["answer"],
        limits,
        isCold: true,
      });
      const file = outputs.find(({ name }) => name === "answer");
      if (outcome.status !== "success" || file === undefined) return { ok: false, message: outcome.message };
      return { ok: true, answer: JSON.parse(await readFile(file.path, "utf8")) };
    } finally {
      release?.();
      await rm(folder, { recursive: true, force: true });
    }
  };
}
