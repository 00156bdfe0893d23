import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { FileProblem } from "../domain/errors.ts";
import type { AccountId } from "../domain/ids.ts";
import { createSlots, type Slots } from "../system/slots.ts";
import type { RemoveTree } from "../system/trees/remove-tree.ts";
import type { EnvironmentArchives } from "./archives.ts";
import { buildEnvironment, type Session, unpackEnvironment } from "./build.ts";
import type { WorkFolder } from "./build-lease.ts";
import { type BuildLimits, EnvironmentError } from "./build-steps.ts";
import { createBuildWorkspace } from "./build-workspace.ts";
import type { Confinement } from "./confinement.ts";
import { measureFolder } from "./folder-size.ts";
import { type BuildSpec, type EnvironmentKey, keyOf, type Python, writeLock } from "./lock.ts";
import { type Requirements, toRequirementsText } from "./requirements.ts";
import { toProblem } from "./resolver-messages.ts";
import { type PruneOptions, publishFolder, touchFolder } from "./sealed-folder.ts";
import { createSharedTurn, type SharedTurn } from "./shared-turn.ts";
import { shareEnvironment } from "./sharing.ts";

export { EnvironmentError } from "./build-steps.ts";
export type { EnvironmentKey, Python } from "./lock.ts";

const LIMITS: BuildLimits = {
  timeoutMs: 10 * 60_000,
  bytesMax: 4 * 1024 ** 3,
  entriesMax: 300_000,
  freeBytesMin: 4 * 1024 ** 3,
  freeShareMin: 0.1,
};
/** More builds than this would take the machine from the executions that run on it; one more for accounts without one. */
const BUILDS_AT_ONCE_MAX = 2;
/** Resolving downloads little and runs no code of packages. */
const RESOLUTIONS_AT_ONCE_MAX = 4;
/** Shares the turns of builds that are for no account. */
const NO_ACCOUNT = "" as AccountId;
const KEY = /^[0-9a-f]{64}$/;

export interface EnvironmentsSettings extends Confinement {
  /** Belongs to the service; the unprivileged user must be able to pass through it, and through its parents. */
  readonly dir: string;
  /** Of environments whose spec names no other. */
  readonly python: Python;
  readonly uv: { readonly path: string } | undefined;
  /** The machine's package settings (see `collectPackageSettings`), and its `PATH`. What else is in it is not used. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly log: { info(facts: object, message: string): void; warn(facts: object, message: string): void };
  readonly limits?: Partial<BuildLimits> | undefined;
  /** How work folders and old environments are removed; `removeTree` unless given. */
  readonly removeTree?: RemoveTree | undefined;
  /** Where hosts share what they built; each builds for itself unless given. */
  readonly archives?: EnvironmentArchives | undefined;
}

export type LockResult =
  | { readonly ok: true; readonly lock: string; readonly key: EnvironmentKey; readonly log: string }
  | { readonly ok: false; readonly problems: readonly FileProblem[]; readonly log: string };

/** The spec: the settings' Python and wheels only, unless it says otherwise. */
interface BuildOptions extends Partial<BuildSpec> {
  /** Whose turn it is: builds go by turns between accounts. */
  readonly accountId?: AccountId;
  /** Receives what the build prints, line by line. */
  readonly report?: ((line: string) => void) | undefined;
}

export interface Environments {
  /**
   * Resolves requirements to exact versions with hashes. No code of a package is run, unless the spec lets packages be
   * built: then in a sandbox without network. What the resolver refuses is a problem at the place of a requirement; a
   * machine that cannot resolve anything throws an `EnvironmentError`.
   */
  lock(requirements: Requirements, options?: BuildOptions): Promise<LockResult>;
  /**
   * The folder of the environment, built first when it is not there: complete, read-only, laid out as a virtual
   * environment that is seen at `/env`. Never built twice at once on a machine. Throws an `EnvironmentError`.
   */
  ensure(key: EnvironmentKey, lock: string, options?: BuildOptions): Promise<string>;
  /** Returns the bytes that these environments take on this machine together; what is not there takes none. */
  measure(keys: readonly EnvironmentKey[]): Promise<number>;
  /** Removes environments that nobody used for long, or least recently when all are too large. Returns their keys. */
  prune(options: PruneOptions): Promise<EnvironmentKey[]>;
  /** What the last build of an environment said on this host. */
  readLog(key: EnvironmentKey): Promise<string | undefined>;
}

interface Running {
  readonly path: Promise<string>;
  readonly reports: Set<(line: string) => void>;
  readonly turn: SharedTurn;
}

interface Making {
  readonly turn: SharedTurn;
  readonly report: (line: string) => void;
}

/** Python environments of one machine, in one folder; any number of processes may share it. */
export function createEnvironments(settings: EnvironmentsSettings): Environments {
  const { dir } = settings;
  const workspace = createBuildWorkspace({ ...settings, limits: { ...LIMITS, ...settings.limits } });
  const running = new Map<EnvironmentKey, Running>();
  const builds = createSlots({ count: BUILDS_AT_ONCE_MAX });
  const lock = createResolver(workspace, settings, builds);
  const logPathOf = (key: EnvironmentKey): string => join(dir, `${key}.log`);
  const make = createMaker(workspace, settings, { builds, logPathOf });
  const sizes = createSizes(dir);

  return {
    lock,

    async ensure(key, lock, options = {}) {
      if (KEY.test(key) && (await touchFolder(join(dir, key)))) return join(dir, key);
      const entry = running.get(key) ?? start(key, lock, toRecipe(settings, options));
      if (options.report !== undefined) entry.reports.add(options.report);
      entry.turn.join(options.accountId ?? NO_ACCOUNT);
      return entry.path;
    },

    measure: sizes.measure,

    async prune(options) {
      const removed = await workspace.prune(KEY, options);
      for (const key of removed) sizes.forget(key);
      for (const key of removed) await rm(logPathOf(key), { force: true });
      if (removed.length > 0)
        settings.log.info({ environments: removed }, "Python environments were removed that nobody used.");
      return removed;
    },

    readLog: (key) => readFile(logPathOf(key), "utf8").catch(() => undefined),
  };

  function start(key: EnvironmentKey, lock: string, spec: BuildSpec): Running {
    const reports: Running["reports"] = new Set();
    const notify = (line: string): void => {
      for (const report of reports) report(line);
    };
    const turn = createSharedTurn(builds, key);
    const path = make(key, lock, spec, { turn, report: notify }).finally(() => running.delete(key));
    const entry = { reports, turn, path };
    running.set(key, entry);
    return entry;
  }
}

/** Makes environments: builds them, or unpacks what another host has built. */
function createMaker(
  workspace: ReturnType<typeof createBuildWorkspace>,
  settings: EnvironmentsSettings,
  { builds, logPathOf }: { builds: Slots; logPathOf: (key: EnvironmentKey) => string },
) {
  return async (key: EnvironmentKey, lock: string, spec: BuildSpec, { turn, report }: Making): Promise<string> => {
    const path = join(settings.dir, key);
    if (!KEY.test(key) || keyOf(spec.python, lock, spec.build) !== key) throw wrongInterpreter(spec.python);
    const finish = async ({ context, steps }: Session, verb: "built" | "unpacked", act: () => Promise<void>) => {
      const startedAtMs = Date.now();
      try {
        await act();
        await touchFolder(context.environmentDir); // its age counts from now, however long the build took
        await publishFolder(context.environmentDir, path);
      } finally {
        await writeFile(logPathOf(key), steps.log(), { mode: 0o600 });
      }
      const facts = { event: `environment.${verb}`, environment: key, seconds: (Date.now() - startedAtMs) / 1000 };
      settings.log.info(facts, `A Python environment was ${verb}.`);
    };
    const openSession = (work: WorkFolder) => workspace.openSession(work, lock, { ...spec, report });
    const build = (work: WorkFolder) =>
      inTurn(builds, { id: key, turn, report }, async () => {
        const session = await openSession(work);
        await finish(session, "built", () => buildEnvironment(session, lock));
      });
    const unpack = (download: (dir: string) => Promise<string>) =>
      workspace.inWorkFolder("archive", async (work) => {
        const archivePath = await download(work.path);
        const session = await openSession(work);
        await finish(session, "unpacked", () => unpackEnvironment(session, archivePath));
      });
    await workspace.withLease(key, path, (work) =>
      shareEnvironment(settings, { key, path, python: spec.python, report }, { build: () => build(work), unpack }),
    );
    return path;
  };
}

/** Sizes of finished environments, which never change. */
function createSizes(dir: string) {
  const known = new Map<EnvironmentKey, number>();
  return {
    async measure(keys: readonly EnvironmentKey[]): Promise<number> {
      let sum = 0;
      for (const key of keys.filter((each) => KEY.test(each))) {
        const size = known.get(key) ?? (await measureFolder(join(dir, key))).bytes;
        if (size > 0) known.set(key, size);
        sum += size;
      }
      return sum;
    },
    forget: (key: EnvironmentKey) => known.delete(key),
  };
}

/** Resolves requirements in turns of their own; those whose packages may be built to learn about them, in turns of builds. */
function createResolver(
  workspace: ReturnType<typeof createBuildWorkspace>,
  settings: EnvironmentsSettings,
  builds: Slots,
): Environments["lock"] {
  const resolutions = createSlots({ count: RESOLUTIONS_AT_ONCE_MAX });
  let asked = 0;
  return (requirements, options = {}) => {
    const spec = toRecipe(settings, options);
    const slots = spec.build === "source" ? builds : resolutions;
    const id = `lock ${(asked += 1)}`;
    const turn = createSharedTurn(slots, id);
    turn.join(options.accountId ?? NO_ACCOUNT);
    const act = () => resolve(workspace, requirements, spec, options.report);
    return inTurn(slots, { id, turn, report: options.report }, act);
  };
}

/** Does `act` when its turn has come, and says so when it has to wait. */
async function inTurn<Result>(
  slots: Slots,
  { id, turn, report }: { id: string; turn: SharedTurn; report: BuildOptions["report"] },
  act: () => Promise<Result>,
): Promise<Result> {
  const taking = turn.take();
  const place = slots.placeOf(id);
  if (place !== undefined) report?.(`Waiting for other builds: number ${place} in the queue.`);
  const end = await taking;
  try {
    return await act();
  } finally {
    end();
  }
}

async function resolve(
  workspace: ReturnType<typeof createBuildWorkspace>,
  requirements: Requirements,
  spec: BuildSpec,
  report: BuildOptions["report"],
): Promise<LockResult> {
  return workspace.inWorkFolder("lock", async (work) => {
    const list = toRequirementsText(requirements);
    const { steps, context, installer } = await workspace.openSession(work, list, { ...spec, report });
    const resolution = await installer.resolve(steps, context);
    if (!resolution.ok)
      return { ok: false, problems: [toProblem(resolution.output, requirements, spec)], log: steps.log() };
    const lock = writeLock(resolution.pins);
    return { ok: true, lock, key: keyOf(spec.python, lock, spec.build), log: steps.log() };
  });
}

function toRecipe(
  settings: EnvironmentsSettings,
  { python = settings.python, build = "wheels" }: BuildOptions,
): BuildSpec {
  return { python, build };
}

function wrongInterpreter(python: Python): EnvironmentError {
  return new EnvironmentError(
    "wrong_interpreter",
    `This commit's packages were locked for another Python than ${python.version} on ${python.platform}. Publish the workflow again.`,
    "",
  );
}
