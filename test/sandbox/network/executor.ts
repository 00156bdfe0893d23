import { chmodSync, chownSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Destination } from "../../../domain/destinations.ts";
import type { Network } from "../../../sandbox/network/network.ts";
import { prepareRunnerFolder } from "../../../sandbox/runner-folder.ts";
import { createSandbox } from "../../../sandbox/sandbox.ts";
import type { KernelUsers } from "../../../sandbox/users/kernel-users.ts";
import { findInterpreter, LANES, LIMITS, RUNNER_SOURCE } from "../../runner/harness.ts";

/** Where a service of the tests finds what its sandbox needs; everybody may read it. */
export interface ExecutorPlace {
  readonly runnerDir: string;
  readonly interpreterPath: string;
  readonly interpreterVersion: string;
  /** Existing; the service's user may write in it. */
  readonly folder: string;
}

/** Makes such a place in a folder, and the runner in it. */
export async function makeExecutorPlace(root: string): Promise<ExecutorPlace> {
  const interpreter = findInterpreter();
  const place = {
    runnerDir: join(root, "runner"),
    folder: join(root, "executions"),
    interpreterPath: interpreter.path,
    interpreterVersion: interpreter.version,
  };
  mkdirSync(place.folder);
  chmodSync(place.folder, 0o777); // Whichever user the service is.
  await prepareRunnerFolder({
    sourceDir: RUNNER_SOURCE,
    targetDir: place.runnerDir,
    interpreterPath: interpreter.path,
  });
  return place;
}

interface Program {
  readonly code: string;
  readonly network: boolean | readonly Destination[];
  readonly cancelAfterMs?: number;
  /** In a lane, which the same code finds again. */
  readonly lane?: boolean;
  /** The one module of its environment, called `packaged`. */
  readonly packaged?: string;
}

/** Written once: a lane that is being started would read a file that is written anew as an empty one. */
function makeCommit(folder: string, code: string): string {
  const dir = join(folder, "commit");
  mkdirSync(dir, { mode: 0o755 });
  writeFileSync(join(dir, "main.py"), code, { mode: 0o644 });
  return dir;
}

/** Runs code as the service does: through the sandbox, with or without a network. Answers its outcome and its JSON result. */
export function createExecutor(
  place: ExecutorPlace,
  {
    network,
    runAs,
    users,
  }: {
    readonly network: Network;
    readonly runAs: { uid: number; gid: number } | undefined;
    readonly users: KernelUsers | undefined;
  },
) {
  const lanesDir = join(place.folder, `lanes-${process.pid}`);
  mkdirSync(lanesDir, { mode: 0o711 });
  if (runAs !== undefined) chownSync(lanesDir, runAs.uid, runAs.gid);
  const sandbox = createSandbox({
    isolation: "bubblewrap",
    bwrapPath: "/usr/bin/bwrap",
    interpreter: { path: place.interpreterPath, version: place.interpreterVersion, prefix: "/usr", bindPaths: [] },
    runnerDir: place.runnerDir,
    runAs,
    limits: LIMITS,
    network,
    users,
    lanes: { ...LANES, dir: lanesDir },
  });
  let count = 0;
  const commits = new Map<string, string>();
  return async ({ code, network: hasNetwork, cancelAfterMs, lane = false, packaged }: Program) => {
    const folder = join(place.folder, `execution-${process.pid}-${++count}`);
    for (const path of [folder, join(folder, "spool")]) mkdirSync(path, { mode: 0o755 });
    const commitDir = commits.get(code) ?? makeCommit(folder, code);
    commits.set(code, commitDir);
    const environmentDir = packaged === undefined ? null : join(folder, "environment");
    if (environmentDir !== null && packaged !== undefined) {
      const [major, minor] = place.interpreterVersion.split(".");
      const modules = join(environmentDir, `lib/python${major}.${minor}/site-packages`);
      mkdirSync(modules, { recursive: true, mode: 0o755 });
      writeFileSync(join(modules, "packaged.py"), packaged, { mode: 0o644 });
    }
    if (runAs !== undefined) chownSync(join(folder, "spool"), runAs.uid, runAs.gid);
    const signal = cancelAfterMs === undefined ? {} : { signal: AbortSignal.timeout(cancelAfterMs) };
    const request = {
      executionId: "ex_1",
      commitDir,
      environmentDir,
      entrypoint: "main.py",
      spoolDir: join(folder, "spool"),
      inputs: {},
      kinds: {},
      files: [],
      declaredOutputs: null,
      limits: LIMITS,
      network: hasNetwork,
      isCold: !lane,
    };
    const warmth = lane ? await sandbox.warm(request) : undefined;
    const { outcome, outputs, path } = await sandbox.run(request, signal);
    const result = outputs.find((output) => output.name === "result");
    return {
      outcome,
      path,
      warmth,
      result: result === undefined ? null : (JSON.parse(readFileSync(result.path, "utf8")) as unknown),
    };
  };
}
