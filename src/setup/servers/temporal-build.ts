import { copyFile, mkdir, stat, statfs } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { CommandOptions, RunCommand } from "./command.ts";
import { TEMPORAL_FALLBACK_VERSION, TEMPORAL_VERSION } from "./temporal-version.ts";

const PACKAGE = "github.com/temporalio/cli/cmd/temporal";
const GO_MIN = [1, 25, 0] as const;
/** What the wrapper module's go.mod asks for. */
const WRAPPER_GO_MIN = [1, 26, 4] as const;
/** Counted in a build of 1.8.2 for Linux with empty caches. Others differ by a few per cent. */
const MODULES = 253;
const PACKAGES = 1_718;
const REPORT_INTERVAL_MS = 10_000;
/** Module and build caches take 7 GB when they start empty. */
const DISK_BYTES_MIN = 8 * 2 ** 30;
const WRAPPER_FOLDER = fileURLToPath(new URL("./temporal-build", import.meta.url));

export interface BuildOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** An empty folder for everything the build needs; the caller deletes it. */
  readonly folder: string;
  readonly run: RunCommand;
  readonly report: (line: string) => void;
  readonly signal?: AbortSignal | undefined;
  /** What tests replace. */
  readonly wrapperFolder?: string;
  readonly reportIntervalMs?: number;
  readonly freeBytes?: (folder: string) => Promise<number>;
}

export interface BuiltTemporal {
  readonly program: string;
  readonly version: string;
}

/**
 * Builds Temporal's CLI with the Go toolchain of this machine (1.25 or later), from the module proxy that the user's Go
 * is set to. With Go 1.26.4 or later, or one that may fetch it, this is the pinned version through our wrapper module.
 * Its `go.sum` fixes every byte. Otherwise it is the newest version that `go install` takes. Rejects with what is
 * missing.
 */
export async function buildTemporal(options: BuildOptions): Promise<BuiltTemporal> {
  const go = await findGoVersion(options);
  const caches = await chooseGoCaches(options);
  const env = { ...withoutBuildSettings(options.env), ...caches, CGO_ENABLED: "0", GOWORK: "off" };

  const isNewEnough = isAtLeast(go, WRAPPER_GO_MIN);
  try {
    return await buildWrapper(options, { ...env, GOTOOLCHAIN: isNewEnough ? "local" : "auto" });
  } catch (error) {
    if (isNewEnough || options.signal?.aborted) throw error;
    options.report(
      `Go ${go.join(".")} could not become the ${WRAPPER_GO_MIN.join(".")} that Temporal ${TEMPORAL_VERSION} needs; building Temporal ${TEMPORAL_FALLBACK_VERSION} instead.`,
    );
    return installFallback(options, { ...env, GOTOOLCHAIN: "local" });
  }
}

async function findGoVersion({ env, run, signal, folder }: BuildOptions): Promise<readonly number[]> {
  // In the build's folder: a go.mod above the current one must not choose another toolchain.
  const { code, stdout } = await run("go", ["version"], {
    env: { ...env, GOTOOLCHAIN: "local" },
    cwd: folder,
    timeoutMs: 10_000,
    signal,
  });
  const found = /go version go(\d+)\.(\d+)(?:\.(\d+))?/.exec(stdout);
  if (code !== 0 || found === null) throw new Error("there is no Go on PATH");
  const version = found.slice(1).map((part) => Number(part ?? 0));
  if (!isAtLeast(version, GO_MIN)) throw new Error(`the Go on PATH is ${version.join(".")}; needed is 1.25 or later`);
  return version;
}

/** The user's Go caches where there are any: they shorten the build and stay theirs. Otherwise our own, deleted afterwards. */
async function chooseGoCaches(options: BuildOptions): Promise<Record<string, string>> {
  const { code, stdout } = await options.run("go", ["env", "GOMODCACHE", "GOCACHE"], {
    env: { ...options.env, GOTOOLCHAIN: "local" },
    cwd: options.folder,
    timeoutMs: 10_000,
    signal: options.signal,
  });
  const [modules = "", builds = ""] = code === 0 ? stdout.split("\n") : [];
  const found = { GOMODCACHE: await isFolder(modules), GOCACHE: await isFolder(builds) };
  if (!found.GOMODCACHE || !found.GOCACHE) {
    const bytes = await (options.freeBytes ?? readFreeBytes)(options.folder);
    if (bytes < DISK_BYTES_MIN) {
      throw new Error(
        `the build needs ${toGibibytes(DISK_BYTES_MIN)} of free disk for a while, and ${options.folder} has ${toGibibytes(bytes)}`,
      );
    }
  }
  // GOFLAGS must not be empty: then the one of `go env -w` would count. Without -modcacherw nobody can delete the modules.
  return {
    ...(found.GOMODCACHE
      ? { GOMODCACHE: modules, GOFLAGS: "-buildvcs=false" }
      : { GOMODCACHE: join(options.folder, "modules"), GOFLAGS: "-buildvcs=false -modcacherw" }),
    GOCACHE: found.GOCACHE ? builds : join(options.folder, "cache"),
    GOTMPDIR: options.folder,
  };
}

async function buildWrapper(options: BuildOptions, env: Record<string, string | undefined>): Promise<BuiltTemporal> {
  const wrapper = join(options.folder, "wrapper");
  await mkdir(wrapper, { recursive: true });
  for (const name of ["go.mod", "go.sum"]) {
    await copyFile(join(options.wrapperFolder ?? WRAPPER_FOLDER, name), join(wrapper, name));
  }
  const program = join(options.folder, "temporal");
  const stamp = `-s -w -X github.com/temporalio/cli/internal/temporalcli.Version=${TEMPORAL_VERSION}`;
  options.report(
    `Building Temporal ${TEMPORAL_VERSION} with Go: about 8 minutes on two cores, once for all clones on this machine.`,
  );
  const args = ["build", "-mod=readonly", "-trimpath", "-v", "-ldflags", stamp, "-o", program, PACKAGE];
  await runGo(options, args, { env, cwd: wrapper, signal: options.signal });
  return { program, version: TEMPORAL_VERSION };
}

async function installFallback(options: BuildOptions, env: Record<string, string | undefined>): Promise<BuiltTemporal> {
  const stamp = `-s -w -X github.com/temporalio/cli/temporalcli.Version=${TEMPORAL_FALLBACK_VERSION}`;
  options.report(
    `Building Temporal ${TEMPORAL_FALLBACK_VERSION} with Go: about 6 minutes on two cores, once for all clones on this machine.`,
  );
  const args = ["install", "-trimpath", "-v", "-ldflags", stamp, `${PACKAGE}@v${TEMPORAL_FALLBACK_VERSION}`];
  await runGo(options, args, { env: { ...env, GOBIN: options.folder }, cwd: options.folder, signal: options.signal });
  return { program: join(options.folder, "temporal"), version: TEMPORAL_FALLBACK_VERSION };
}

/** Runs a build and tells every ten seconds how far it is: `go build -v` names each module and each package it is done with. */
async function runGo(options: BuildOptions, args: readonly string[], how: CommandOptions): Promise<void> {
  const startedAt = Date.now();
  let modules = 0;
  let packages = 0;
  const timer = setInterval(() => {
    const progress = describeProgress({ seconds: Math.round((Date.now() - startedAt) / 1000), modules, packages });
    options.report(`Building Temporal: ${progress}.`);
  }, options.reportIntervalMs ?? REPORT_INTERVAL_MS);
  try {
    const { code, tail } = await options.run("go", args, {
      ...how,
      onLine: (_stream, line) => {
        if (line.startsWith("go: downloading ")) modules += 1;
        else if (/^[\w.~-]+(\/[\w.~-]+)*$/.test(line)) packages += 1;
      },
    });
    options.signal?.throwIfAborted();
    if (code !== 0) throw new Error(`go ${args[0]} failed: ${explainGo(tail)}`);
  } finally {
    clearInterval(timer);
  }
}

/** "1 min 20 s so far, 253 of about 253 modules downloaded, 900 of about 1718 packages compiled". */
export function describeProgress(at: { seconds: number; modules: number; packages: number }): string {
  const minutes = Math.floor(at.seconds / 60);
  const elapsed = minutes > 0 ? `${minutes} min ${at.seconds % 60} s` : `${at.seconds} s`;
  const downloaded =
    at.modules > 0 ? `, ${at.modules} of about ${Math.max(MODULES, at.modules)} modules downloaded` : "";
  return `${elapsed} so far${downloaded}, ${at.packages} of about ${Math.max(PACKAGES, at.packages)} packages compiled`;
}

/** Settings of the user's that would change what is built. Where Go fetches modules from stays the user's choice. */
function withoutBuildSettings(env: Readonly<Record<string, string | undefined>>): Record<string, string | undefined> {
  const kept: Record<string, string | undefined> = {
    ...env,
    PATH: env.PATH ?? ["/usr/local/go/bin", "/usr/local/bin", "/usr/bin", "/bin"].join(delimiter),
  };
  for (const name of ["GOOS", "GOARCH", "GOAMD64", "GOARM64", "GOFLAGS", "GOEXPERIMENT", "GOBIN", "GO111MODULE"])
    kept[name] = undefined;
  return kept;
}

function explainGo(tail: readonly string[]): string {
  const lines = tail.filter((line) =>
    /error|fail|cannot|no such|timeout|mismatch|refused|required|:\d+:\d+:|no space/i.test(line),
  );
  return (lines.length > 0 ? lines : tail).slice(-4).join(" | ");
}

async function readFreeBytes(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
}

async function isFolder(path: string): Promise<boolean> {
  if (!path.startsWith("/")) return false;
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}

function isAtLeast(version: readonly number[], least: readonly number[]): boolean {
  const differing = least.findIndex((part, index) => (version[index] ?? 0) !== part);
  return differing === -1 || (version[differing] ?? 0) > (least[differing] ?? 0);
}

function toGibibytes(bytes: number): string {
  return `${(bytes / 2 ** 30).toFixed(1)} GiB`;
}
