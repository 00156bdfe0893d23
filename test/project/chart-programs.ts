import { execFile, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { access, mkdir, mkdtemp, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { findCacheDir } from "../../src/setup/servers/temporal-cache.ts";

const CHART = fileURLToPath(new URL("../../deploy/helm/treadle", import.meta.url));
const PROGRAM = fileURLToPath(new URL("./chart", import.meta.url));
const NEEDS = "The tests of the Helm chart need Go 1.25 or newer, and the module proxy that it is set to.";
/** A Go module that has the schemas of Kubernetes' own objects. The sum fixes its every byte. */
const SCHEMAS = {
  module: "sigs.k8s.io/kubectl-validate@v0.0.4",
  sum: "h1:tGKuv0awYHn11Cb6KPsZKxUmHgavF46K3NvVH0Nse9U=",
  folder: "pkg/openapiclient/builtins/1.30",
};
/** The program runs for a second and is compiled for a minute: without optimizations, and with less garbage collected, that is a third less. */
const QUICK_BUILD = { flags: ["-gcflags=all=-N -l -dwarf=false", "-ldflags=-s -w"], env: { GOGC: "400" } };
/** What the first use may take: the build needs a minute on two idle cores. */
export const CHART_BUILD_MS_MAX = 15 * 60_000;

/** An object of Kubernetes, as far as tests look into any. */
export interface KubernetesObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly annotations?: Readonly<Record<string, string>> };
}

export interface Rendered {
  readonly objects: readonly KubernetesObject[];
  readonly notes: string;
  readonly error?: string;
}

/** Renders the chart by Helm's own engine, once with each set of values. */
export async function renderChart(sets: Readonly<Record<string, object>>): Promise<Record<string, Rendered>> {
  const child = spawn(await buildRenderer(), { stdio: ["pipe", "pipe", "inherit"] });
  child.stdin.end(JSON.stringify({ chart: CHART, sets }));
  return JSON.parse(await text(child.stdout)) as Record<string, Rendered>;
}

/** Builds the program that has Helm in it, once for all checkouts with the same sources of it; answers its path. */
async function buildRenderer(): Promise<string> {
  const sources = await Promise.all(["main.go", "go.mod", "go.sum"].map((name) => readFile(join(PROGRAM, name))));
  const key = createHash("sha256").update(Buffer.concat(sources)).digest("hex").slice(0, 16);
  const cache = join(findCacheDir(process.env), "test");
  const path = join(cache, `helm-chart-${key}`);
  if (await exists(path)) return path;
  process.stderr.write("Building what renders the Helm chart (about a minute, once) …\n");
  await mkdir(cache, { recursive: true });
  const building = await mkdtemp(join(cache, "building-"));
  try {
    await runGo(["build", "-mod=readonly", "-trimpath", ...QUICK_BUILD.flags, "-o", join(building, "chart"), "."]);
    await rename(join(building, "chart"), path);
  } finally {
    await rm(building, { recursive: true, force: true });
  }
  return path;
}

/** Returns the folder with an OpenAPI document for each group of Kubernetes' API. */
export async function fetchSchemas(): Promise<string> {
  const { Sum, Dir } = JSON.parse(await runGo(["mod", "download", "-json", SCHEMAS.module])) as Record<string, string>;
  if (Sum !== SCHEMAS.sum) throw new Error(`${SCHEMAS.module} has the sum ${Sum}, and not ${SCHEMAS.sum}.`);
  return join(Dir ?? "", SCHEMAS.folder);
}

async function runGo(args: string[]): Promise<string> {
  const fixed = { GOTOOLCHAIN: "local", GOWORK: "off", GOFLAGS: "-buildvcs=false", CGO_ENABLED: "0" };
  const env = { ...process.env, ...fixed, ...QUICK_BUILD.env };
  const options = { cwd: PROGRAM, env, timeout: CHART_BUILD_MS_MAX, maxBuffer: 1 << 24 };
  return promisify(execFile)("go", args, options).then(
    ({ stdout }) => stdout,
    (error: Error) => {
      throw new Error(`${NEEDS}\n${error.message}`, { cause: error });
    },
  );
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
