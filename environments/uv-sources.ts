import { chmod, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { BuildSteps, StepResult } from "./build-steps.ts";
import type { BuildContext, Resolution } from "./installer.ts";
import { type Pin, parseLock, writeLock } from "./lock.ts";
import { normalizeName, parseRequirement } from "./requirement.ts";
import { type Built, buildMetadata, buildWheel, type Source, type SourceTools } from "./source-build.ts";

/** Each takes seconds to minutes; the build's own time limit ends most before. */
const SOURCES_MAX = 50;
const FAILED_BUILD = /Failed to (?:download and )?build `([A-Za-z0-9][A-Za-z0-9._-]*)==([A-Za-z0-9.!+_-]+)`/;
const COMPUTED_HASH = /Computed:\s+sha256:([0-9a-f]{64})/;
const EXTRA = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;
/** Makes an installer say which hash a file really has; no file has this one. */
const NO_HASH = "0".repeat(64);

/** The steps of uv that `build: source` needs. In each of them uv has the network and no Python that could run. */
export interface UvSteps extends SourceTools {
  /** Resolves with sources, whose metadata stands in the `uv.toml` of a folder. */
  compile(steps: BuildSteps, context: BuildContext, configDir: string): Promise<StepResult & { readonly text: string }>;
  /** Downloads what a lock names, as far as there are wheels. */
  fetchLocked(steps: BuildSteps, context: BuildContext): Promise<StepResult>;
}

/**
 * Resolves where some packages only have their source. uv names the first whose metadata it cannot have without running
 * it. That one is built in a sandbox, its metadata go to uv, and so on.
 */
export async function resolveWithSources(uv: UvSteps, steps: BuildSteps, context: BuildContext): Promise<Resolution> {
  const configDir = dirname(context.listPath);
  const known: { source: Source; entry: string }[] = [];
  for (;;) {
    await writePublic(join(configDir, "uv.toml"), known.map(({ entry }) => entry).join("\n"));
    const { code, output, text } = await uv.compile(steps, context, configDir);
    if (code === 0) return addHashes(uv, steps, context, text);
    const source = findFailed(
      output,
      known.map((one) => one.source),
    );
    if (source === undefined) return { ok: false, output: report(steps, output) };
    const built = await buildMetadata(steps, context, source, uv);
    if (!built.ok) return built;
    const entry = toEntry(source, built.result);
    if (!entry.ok) return entry;
    known.push({ source, entry: entry.result });
  }
}

/** What had to be built, beside what was downloaded. */
export interface FetchedSources {
  /** The lock without what was built. */
  readonly wheels: readonly Pin[];
  readonly built: readonly Pin[];
}

/** Downloads what a lock names and builds what only has its source: wheels of that are in `wheelsDir`. */
export async function fetchWithSources(
  uv: UvSteps,
  steps: BuildSteps,
  context: BuildContext,
  wheelsDir: string,
): Promise<Built<FetchedSources>> {
  const pins = parseLock(await readFile(context.listPath, "utf8"));
  const built: Pin[] = [];
  const listPath = join(dirname(context.listPath), "wheels.txt");
  for (;;) {
    const wheels = pins.filter((pin) => !built.includes(pin));
    await writePublic(listPath, writeLock(wheels));
    const { code, output } =
      wheels.length === 0 ? { code: 0, output: "" } : await uv.fetchLocked(steps, { ...context, listPath });
    if (code === 0) return { ok: true, result: { wheels, built } };
    const failed = findFailed(output, built);
    const pin = wheels.find(({ name }) => name === failed?.name);
    if (pin === undefined) return { ok: false, output: report(steps, output) };
    const wheel = await buildWheel(steps, context, pin, uv, wheelsDir);
    if (!wheel.ok) return wheel;
    built.push(pin);
  }
}

/** Puts into the log what uv said at last; before, it only said again and again what it cannot build. */
function report(steps: BuildSteps, output: string): string {
  for (const line of output.trimEnd().split("\n")) steps.say(line);
  return output;
}

/** The package whose build could not begin; undefined when uv failed for another reason, or names one again. */
function findFailed(output: string, before: readonly Source[]): Source | undefined {
  const [, written, version] = FAILED_BUILD.exec(output) ?? [];
  if (written === undefined || version === undefined || before.length >= SOURCES_MAX) return undefined;
  const name = normalizeName(written);
  const isAgain = before.some((source) => source.name === name && source.version === version);
  return isAgain ? undefined : { name, version, hashes: undefined };
}

/** One table of uv's `dependency-metadata`, from what a build said. It is foreign: only plain requirements get through. */
function toEntry(source: Source, text: string): Built<string> {
  const [head = ""] = text.split(/\r?\n\r?\n/);
  const valuesOf = (field: string): string[] =>
    head.split(/\r?\n/).flatMap((line) => (line.startsWith(`${field}: `) ? [line.slice(field.length + 2).trim()] : []));
  const requires: string[] = [];
  for (const written of valuesOf("Requires-Dist")) {
    const parsed = parseRequirement(written);
    if (parsed === undefined || "message" in parsed) {
      const reason = `asks for ${JSON.stringify(written.slice(0, 200))}: ${parsed?.message ?? "nothing"}`;
      return { ok: false, output: `The package ${source.name}==${source.version} ${reason}` };
    }
    requires.push(parsed.text);
  }
  const extras = valuesOf("Provides-Extra").filter((extra) => EXTRA.test(extra));
  const lines = [
    "[[dependency-metadata]]",
    `name = ${JSON.stringify(source.name)}`,
    `version = ${JSON.stringify(source.version)}`,
    `requires-dist = ${JSON.stringify(requires)}`,
    `provides-extra = ${JSON.stringify(extras)}`,
    "",
  ];
  return { ok: true, result: lines.join("\n") };
}

/** Some indexes publish no hashes, and of a source that was not built uv then knows none: it is asked for each. */
async function addHashes(uv: UvSteps, steps: BuildSteps, context: BuildContext, text: string): Promise<Resolution> {
  const lines = text.replaceAll(/\\\r?\n/g, " ").split(/\r?\n/);
  const complete: string[] = [];
  for (const line of lines) {
    const [, name, version] = /^([A-Za-z0-9._-]+)==([A-Za-z0-9.!+_-]+)\s*$/.exec(line) ?? [];
    if (name === undefined || version === undefined) {
      complete.push(line);
      continue;
    }
    const source = { name: normalizeName(name), version, hashes: [NO_HASH] };
    const cacheDir = join(context.ownDir, "tmp", `hash-${source.name}`);
    const { output } = await uv.fetchSource(steps, context, source, cacheDir);
    const hash = COMPUTED_HASH.exec(output)?.[1];
    if (hash === undefined) return { ok: false, output };
    complete.push(`${source.name}==${version} --hash=sha256:${hash}`);
  }
  return { ok: true, pins: parseLock(complete.join("\n")) };
}

/** A file in the work folder, which is ours: the unprivileged user reads it and cannot change it. */
export async function writePublic(path: string, text: string): Promise<void> {
  await writeFile(path, text);
  await chmod(path, 0o644);
}
