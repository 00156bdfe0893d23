import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { FileProblem } from "../domain/errors.ts";
import type { AccountId } from "../domain/ids.ts";
import { createSlots, type Slots } from "../system/slots.ts";
import type { RemoveTree } from "../system/trees/remove-tree.ts";
import { buildEnvironment } from "./build.ts";
import { type BuildLimits, EnvironmentError } from "./build-steps.ts";
import { createBuildWorkspace } from "./build-workspace.ts";
import type { Confinement } from "./confinement.ts";
import { measureFolder } from "./folder-size.ts";
import { type BuildSpec, type EnvironmentKey, keyOf, type Python, writeLock } from "./lock.ts";
import { type Requirements, toRequirementsText } from "./requirements.ts";
import { toProblem } from "./resolver-messages.ts";
import { type PruneOptions, publishFolder, touchFolder } from "./sealed-folder.ts";
import { createSharedTurn, type SharedTurn } from "./shared-turn.ts";

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

/** Python environments of one machine, in one folder; any number of processes may share it. */
export function createEnvironments(settings: EnvironmentsSettings): Environments {
  const { dir } = settings;
  const workspace = createBuildWorkspace({ ...settings, limits: { ...LIMITS, ...settings.limits } });
  const running = new Map<EnvironmentKey, Running>();
  const builds = createSlots({ count: BUILDS_AT_ONCE_MAX });
  const lock = createResolver(workspace, settings, builds);
  const logPathOf = (key: EnvironmentKey): string => join(dir, `${key}.log`);
  const sizes = createSizes(dir);

  async function build(
    key: EnvironmentKey,
    lock: string,
    spec: BuildSpec,
    { turn, report }: { turn: SharedTurn; report: (line: string) => void },
  ): Promise<string> {
    const path = join(dir, key);
    if (!KEY.test(key) || keyOf(spec.python, lock, spec.build) !== key) throw wrongInterpreter(spec.python);
    await workspace.withLease(key, path, (work) =>
      inTurn(builds, { id: key, turn, report }, async () => {
        const startedAtMs = Date.now();
        const session = await workspace.openSession(work, lock, { ...spec, report });
        try {
          await buildEnvironment(session, lock);
          await touchFolder(session.context.environmentDir); // its age counts from now, however long the build took
          await publishFolder(session.context.environmentDir, path);
        } finally {
          await writeFile(logPathOf(key), session.steps.log(), { mode: 0o600 });
        }
        settings.log.info(
          { environment: key, seconds: (Date.now() - startedAtMs) / 1000 },
          "A Python environment was built.",
        );
      }),
    );
    return path;
  }

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
    const path = build(key, lock, spec, { turn, report: notify }).finally(() => running.delete(key));
    const entry = { reports, turn, path };
    running.set(key, entry);
    return entry;
  }
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
