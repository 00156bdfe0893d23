import { chmod, chown, mkdir, readdir, rename, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { CALL_BACKEND } from "./build-backend.ts";
import type { BuildSteps, StepResult } from "./build-steps.ts";
import { type Binding, confineForeignCode } from "./confinement.ts";
import { type BuildContext, PATH } from "./installer.ts";
import type { Pin } from "./lock.ts";
import { normalizeName, parseRequirement } from "./requirement.ts";
import { type BuildSystem, findSourceFolder, readBuildSystem, readForeignFile } from "./source-tree.ts";

const METADATA_BYTES_MAX = 1024 * 1024;
const FILE_BYTES_MAX = 2 * 1024 ** 3;
const SAID_LINES_MAX = 15;
/** How often a backend may ask for more requirements than its `pyproject.toml` names. */
const ASKED_TIMES_MAX = 3;
const NEEDS_MORE = 3;
const WHEEL =
  /^([A-Za-z0-9_.]+)-[A-Za-z0-9_.!+]+(?:-\d[A-Za-z0-9_.]*)?-[A-Za-z0-9_.]+-[A-Za-z0-9_.]+-[A-Za-z0-9_.]+\.whl$/;

/** A version of a package that has no wheel; the hashes, where they are known already, are those it must have. */
export interface Source extends Pick<Pin, "name" | "version"> {
  readonly hashes: readonly string[] | undefined;
}

/** What runs with the network, and no code of a package in it. */
export interface SourceTools {
  /** Downloads and unpacks a source into a cache, where it ends: its build cannot begin. */
  fetchSource(steps: BuildSteps, context: BuildContext, source: Source, cacheDir: string): Promise<StepResult>;
  /** Puts wheels, and nothing but wheels, into a folder. */
  fetchTools(steps: BuildSteps, context: BuildContext, listPath: string, targetDir: string): Promise<StepResult>;
}

export type Built<What> =
  | { readonly ok: true; readonly result: What }
  | { readonly ok: false; readonly output: string };

/** What a source says about itself once it was asked: lines of its METADATA. */
export function buildMetadata(
  steps: BuildSteps,
  context: BuildContext,
  source: Source,
  tools: SourceTools,
): Promise<Built<string>> {
  return build(steps, context, source, tools, "metadata", async (outDir) => {
    const content = await readForeignFile(join(outDir, "METADATA"), METADATA_BYTES_MAX);
    return content?.toString("utf8");
  });
}

/** Builds a wheel and moves it to `wheelsDir`; the result is its file name. */
export function buildWheel(
  steps: BuildSteps,
  context: BuildContext,
  source: Source,
  tools: SourceTools,
  wheelsDir: string,
): Promise<Built<string>> {
  return build(steps, context, source, tools, "wheel", async (outDir) => {
    const names = (await readdir(outDir)).filter((each) => each.endsWith(".whl"));
    const [name] = names.filter((each) => normalizeName(WHEEL.exec(each)?.[1] ?? "") === source.name);
    if (name === undefined || names.length !== 1) return undefined;
    await rename(join(outDir, name), join(wheelsDir, name)); // a link stays a link, and leads nowhere where it is installed
    return name;
  });
}

/**
 * Fetches a source and what its build requires. Then it runs the build, which sees no network and no file of the host
 * but `/usr` and the interpreter.
 */
async function build(
  steps: BuildSteps,
  context: BuildContext,
  source: Source,
  tools: SourceTools,
  wanted: "metadata" | "wheel",
  collect: (outDir: string) => Promise<string | undefined>,
): Promise<Built<string>> {
  const refuse = (output: string): Built<string> => ({
    ok: false,
    output: `The package ${nameOf(source)} could not be built from its source: ${output}`,
  });
  const dir = join(context.ownDir, `source-${source.name}-${wanted}`);
  const [cacheDir, toolsDir, outDir, tmpDir] = ["cache", "tools", "out", "tmp"].map((name) => join(dir, name)) as [
    string,
    string,
    string,
    string,
  ];
  for (const path of [dir, cacheDir, toolsDir, outDir, tmpDir]) await makeOwnFolder(context, path);
  steps.say(`Downloading the source of ${nameOf(source)}…`);
  const fetched = await tools.fetchSource(steps, context, source, cacheDir);
  const sourceDir = await findSourceFolder(cacheDir);
  if (sourceDir === undefined) return refuse(fetched.output);
  const system = await readBuildSystem(sourceDir);
  if (typeof system === "string") return refuse(`${system}.`);
  const requires = [...system.requires];
  for (let asked = 0; asked < ASKED_TIMES_MAX; asked += 1) {
    const got = await fetchRequires(steps, context, requires, { tools, toolsDir, name: `${source.name}-${wanted}` });
    if (got.code !== 0) return refuse(`${got.output}\nWhat a build requires has to be there as wheels.`);
    steps.say(`Building ${nameOf(source)} in a sandbox without network…`);
    const { code, output } = await callBackend(steps, context, system, wanted, { sourceDir, toolsDir, outDir, tmpDir });
    if (code === NEEDS_MORE) {
      const more = await readNeeds(join(outDir, "needs.json"));
      if (more === undefined) return refuse("its build requires something that is no package of the index.");
      requires.push(...more);
      continue;
    }
    if (code !== 0) return refuse(output.trim().split("\n").slice(-SAID_LINES_MAX).join("\n"));
    const result = await collect(outDir);
    return result === undefined ? refuse(`its build left no ${wanted} of that name.`) : { ok: true, result };
  }
  return refuse("its build asks for more requirements time and again.");
}

async function fetchRequires(
  steps: BuildSteps,
  context: BuildContext,
  requires: readonly string[],
  at: { readonly tools: SourceTools; readonly toolsDir: string; readonly name: string },
): Promise<StepResult> {
  if (requires.length === 0) return { code: 0, output: "" };
  const listPath = join(dirname(context.listPath), `requires-${at.name}.txt`);
  await writeFile(listPath, `${requires.join("\n")}\n`, { mode: 0o644 });
  await chmod(listPath, 0o644);
  return at.tools.fetchTools(steps, context, listPath, at.toolsDir);
}

async function callBackend(
  steps: BuildSteps,
  context: BuildContext,
  system: BuildSystem,
  wanted: string,
  folders: { readonly sourceDir: string; readonly toolsDir: string; readonly outDir: string; readonly tmpDir: string },
): Promise<StepResult> {
  const bindings: Binding[] = [
    ...context.python.bindPaths.map((path) => ({ from: path, to: path })),
    { from: folders.toolsDir, to: "/tools" },
    { from: folders.sourceDir, to: "/source", writable: true },
    { from: folders.outDir, to: "/out", writable: true },
    { from: folders.tmpDir, to: "/build-tmp", writable: true },
  ];
  const request = JSON.stringify([wanted, system.backend, system.backendPath, FILE_BYTES_MAX]);
  const program = {
    command: context.python.path,
    args: ["-S", "-B", "-c", CALL_BACKEND, request],
    env: {
      PATH: `/tools/bin:${PATH}`,
      HOME: "/build-tmp",
      TMPDIR: "/build-tmp",
      LANG: "C.UTF-8",
      PYTHONPATH: "/tools",
      PYTHONNOUSERSITE: "1",
      PYTHONUNBUFFERED: "1",
      SOURCE_DATE_EPOCH: "315532800",
    },
  };
  return steps.run(confineForeignCode(context.confinement, program, bindings), { foreignDir: dirname(folders.outDir) });
}

async function readNeeds(path: string): Promise<string[] | undefined> {
  const content = await readForeignFile(path, METADATA_BYTES_MAX);
  let needs: unknown;
  try {
    needs = JSON.parse(content?.toString("utf8") ?? "");
  } catch {
    return undefined;
  }
  if (!Array.isArray(needs) || needs.length > 50) return undefined;
  const texts = needs.map((each) => {
    const parsed = typeof each === "string" && !/[\r\n]/.test(each) ? parseRequirement(each) : undefined;
    return parsed === undefined || "message" in parsed ? undefined : parsed.text;
  });
  return texts.includes(undefined) ? undefined : (texts as string[]);
}

/** A folder for the unprivileged user, to be seen by nobody else's code. */
async function makeOwnFolder({ confinement }: BuildContext, path: string): Promise<void> {
  await mkdir(path, { recursive: true });
  await chmod(path, 0o755);
  if (confinement.runAs !== undefined) await chown(path, confinement.runAs.uid, confinement.runAs.gid);
}

function nameOf({ name, version }: Source): string {
  return `${name}==${version}`;
}
