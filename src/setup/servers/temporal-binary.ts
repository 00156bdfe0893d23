import { mkdir, mkdtemp, readdir, realpath, rm } from "node:fs/promises";
import { delimiter, join } from "node:path";
import type { RunCommand } from "./command.ts";
import { waitForLock } from "./lock.ts";
import { type BuildOptions, buildTemporal } from "./temporal-build.ts";
import { cachePath, findCached, keepInCache } from "./temporal-cache.ts";
import { downloadRelease, type Fetch } from "./temporal-release.ts";
import { checkBinary, TEMPORAL_FALLBACK_VERSION, TEMPORAL_VERSION, type TemporalBinary } from "./temporal-version.ts";

const DRAFT_PREFIX = "making-";

export interface BinaryOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cacheDir: string;
  readonly report: (line: string) => void;
  readonly signal?: AbortSignal | undefined;
  readonly fetch: Fetch;
  readonly run: RunCommand;
  /** What tests replace. */
  readonly checksums?: Readonly<Record<string, string>>;
  readonly build?: Pick<BuildOptions, "wrapperFolder" | "reportIntervalMs" | "freeBytes">;
}

/** One rung: a binary, or why there is none. */
type Rung = TemporalBinary | { readonly problem: string };

/**
 * A Temporal CLI to start, by the first that works. These are `TEMPORAL_CLI_PATH` (which must be suitable), a suitable
 * `temporal` on PATH, our cache, the pinned release, and a build with Go. What the last two make is kept in the cache;
 * of several processes that need it at once, one makes it and the others wait. Rejects with what was tried and what to
 * do.
 */
export async function resolveTemporalBinary(options: BinaryOptions): Promise<TemporalBinary> {
  const { TEMPORAL_CLI_PATH: named } = options.env;
  if (named !== undefined && named !== "") return useNamed(named, options);

  const tried: string[] = [];
  for (const rung of [findOnPath, findInCache]) {
    const found = await rung(options);
    if ("path" in found) return found;
    tried.push(found.problem);
  }

  await mkdir(options.cacheDir, { recursive: true });
  const release = await waitForLock(`${cachePath(options.cacheDir, TEMPORAL_VERSION)}.lock`, {
    signal: options.signal,
    onWait: (pid) =>
      options.report(`Another Treadle (process ${pid}) is fetching or building Temporal; waiting for it.`),
  });
  try {
    const cached = await findInCache(options); // the one we waited for has put it there
    if ("path" in cached) return cached;
    await removeDrafts(options.cacheDir);
    for (const rung of [fetchRelease, buildWithGo]) {
      const found = await rung(options);
      options.signal?.throwIfAborted();
      if ("path" in found) return found;
      options.report(`${found.problem}.`);
      tried.push(found.problem);
    }
  } finally {
    await release();
  }
  throw new Error(
    `No Temporal server to start. Tried:${tried.map((line) => `\n  - ${line}`).join("")}\n` +
      `Do one of these: set TEMPORAL_ADDRESS to a running Temporal; set TEMPORAL_CLI_PATH to a temporal program (1.5 or later), or put it on PATH; allow access to github.com; install Go 1.25 or later.`,
  );
}

async function useNamed(path: string, { run, signal }: BinaryOptions): Promise<TemporalBinary> {
  const check = await checkBinary(path, run, signal);
  if (check.kind === "suitable") return { path, version: check.version, source: `TEMPORAL_CLI_PATH (${path})` };
  throw new Error(
    `TEMPORAL_CLI_PATH is ${path}, but ${check.problem}. Correct it, or unset it to let Treadle find a Temporal.`,
  );
}

async function findOnPath({ env, run, report, signal }: BinaryOptions): Promise<Rung> {
  const problems: string[] = [];
  for (const folder of (env.PATH ?? "").split(delimiter)) {
    if (!folder.startsWith("/")) continue; // a relative one would run any program in the checkout
    const path = await realpath(join(folder, "temporal")).catch(() => undefined);
    if (path === undefined) continue;
    const check = await checkBinary(path, run, signal);
    if (check.kind === "suitable")
      return { path, version: check.version, source: `temporal ${check.version} on PATH (${path})` };
    report(`Not using ${path}: ${check.problem}.`);
    problems.push(`${path}: ${check.problem}`);
  }
  return { problem: problems.length > 0 ? problems.join("; ") : "PATH: no temporal on it" };
}

async function findInCache({ cacheDir, run, report, signal }: BinaryOptions): Promise<Rung> {
  for (const version of [TEMPORAL_VERSION, TEMPORAL_FALLBACK_VERSION]) {
    const path = cachePath(cacheDir, version);
    const state = await findCached(cacheDir, version);
    if (state === "damaged") report(`Deleted ${path}: it did not match its checksum.`);
    if (state !== "found") continue;
    const check = await checkBinary(path, run, signal);
    if (check.kind === "suitable") return { path, version, source: `Temporal ${version} from ${cacheDir}` };
    report(`Not using ${path}: ${check.problem}.`);
  }
  return { problem: `the cache ${cacheDir}: nothing in it` };
}

async function fetchRelease(options: BinaryOptions): Promise<Rung> {
  return makeInCache(options, async (folder) => ({
    program: await downloadRelease({ ...options, folder }),
    version: TEMPORAL_VERSION,
  })).catch((error: Error) => ({ problem: `The download of Temporal ${TEMPORAL_VERSION}: ${error.message}` }));
}

async function buildWithGo(options: BinaryOptions): Promise<Rung> {
  return makeInCache(options, (folder) => buildTemporal({ ...options, ...options.build, folder })).catch(
    (error: Error) => ({
      problem: `The build with Go: ${error.message}`,
    }),
  );
}

/** Lets `make` work in a folder of its own, beside the cache's files so that the result can be renamed, and clears up. */
async function makeInCache(
  { cacheDir, run, signal }: BinaryOptions,
  make: (folder: string) => Promise<{ program: string; version: string }>,
): Promise<TemporalBinary> {
  const folder = await mkdtemp(join(cacheDir, DRAFT_PREFIX));
  try {
    const { program, version } = await make(folder);
    const check = await checkBinary(program, run, signal);
    if (check.kind === "unsuitable") throw new Error(check.problem);
    const path = await keepInCache(program, cacheDir, version);
    return { path, version, source: `Temporal ${version} from ${cacheDir}` };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** What a killed attempt left: up to 7 GB. The caller holds the lock, so nobody is working in them. */
async function removeDrafts(cacheDir: string): Promise<void> {
  for (const name of await readdir(cacheDir)) {
    if (name.startsWith(DRAFT_PREFIX)) await rm(join(cacheDir, name), { recursive: true, force: true });
  }
}
