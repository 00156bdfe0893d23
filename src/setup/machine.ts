import { chmod, stat } from "node:fs/promises";
import { homedir, hostname } from "node:os";
import { resolve } from "node:path";
import type { Python } from "../../environments/lock.ts";
import { collectPackageSettings } from "../../environments/package-settings.ts";
import type { GvisorSettings } from "../../sandbox/request.ts";
import type { Settings } from "../config.ts";
import { type Certificate, readGivenCertificate } from "./certificate.ts";
import { delegateCgroups } from "./cgroups.ts";
import { prepareDataDir } from "./data-dir.ts";
import { type DataPaths, handOverNew, layOutDataDir } from "./data-folders.ts";
import { claimInstance } from "./instance-lock.ts";
import { type NetworkTools, prepareNetworkTools } from "./network-tools.ts";
import { ensureCertificate } from "./own-certificate.ts";
import { findPython } from "./python.ts";
import { type PreparedRunDisks, prepareRunDisks, runDisksSizeOf } from "./run-disks.ts";
import { findRuntime } from "./runsc.ts";
import { findSelf } from "./sandbox-ids.ts";
import { prepareSandboxUsers, type SandboxUsers } from "./sandbox-users.ts";
import type { RunAs } from "./servers/child.ts";
import { type RunCommand, runCommand } from "./servers/command.ts";
import { findCacheDir } from "./servers/temporal-cache.ts";
import { readClusterEntry } from "./servers/temporal-cluster.ts";
import type { TemporalEntry } from "./servers/temporal-proxy.ts";
import type { TemporalBinary } from "./servers/temporal-version.ts";
import { fetchTemporalAhead } from "./temporal-ahead.ts";
import { prepareTools } from "./tools.ts";
import { canServe, dropPrivileges, PASSABLE_UMASK, prepareServiceUser, type ServiceUser } from "./user.ts";
import { probeUserNamespaces } from "./user-namespaces.ts";
import { findUv } from "./uv.ts";

/** What the service finds prepared: everything that needs root, a package manager or the network is done. */
export interface Machine {
  /** For the servers: the environment we were started with, and what was found out on its behalf. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Without links. */
  readonly dataDir: string;
  readonly paths: DataPaths;
  /** Downloads and builds that outlive a checkout. */
  readonly cacheDir: string;
  /** Whom servers and sandboxes run as; undefined when that is who we are. */
  readonly runAs: RunAs | undefined;
  /** Found, or made, while we were still root, and within reach of whom we are now; undefined when we have not changed. */
  readonly temporal: TemporalBinary | undefined;
  readonly python: Python;
  readonly uv: { readonly path: string } | undefined;
  readonly bwrapPath: string;
  /** A Temporal that is not ours, with the files that its settings name; undefined: one is started. */
  readonly cluster: TemporalEntry | undefined;
  /** Set where programs run in gVisor, inside of bubblewrap. */
  readonly gvisor: GvisorSettings | undefined;
  /** Kernel users of sandboxes, which end with this process. */
  readonly sandboxUsers: SandboxUsers;
  /** Undefined when no execution is to have a network. */
  readonly network: NetworkTools | undefined;
  /** Why sandboxes cannot be made here, each with what to do; empty when they can, or are not wanted. */
  readonly problems: readonly string[];
  readonly certificate: Certificate;
  /** Reads it again, as whom we are now; renews one of our own making. Rejects as the start does. */
  readonly readCertificate: () => Promise<Certificate>;
  /** What programs write their outputs to. */
  readonly runDisks: Promise<PreparedRunDisks>;
  /** Where packages come from: variables and configuration files of the user that started us. May hold credentials. */
  readonly packageSettings: Readonly<Record<string, string>>;
  /** Gives the data folder up for the next service. */
  release(): Promise<void>;
}

/**
 * Prepares this machine for one service on one data folder: user, data folder, lock, Python, sandbox tools, uv,
 * certificate. In this order nothing is changed before it is known to be ours. Started as root, the process itself then
 * becomes the unprivileged user for good, if that user can read the checkout. Otherwise it stays root, and `runAs` says
 * whom its children must be. `env` is changed only by the former.
 */
export async function prepareMachine(deps: {
  env: Record<string, string | undefined>;
  settings: Settings;
  checkout: string;
  report: (line: string) => void;
  run?: RunCommand;
}): Promise<Machine> {
  const { env, settings, checkout, report } = deps;
  const run = deps.run ?? runCommand;
  const isRoot = process.getuid?.() === 0;
  const user = await prepareServiceUser({ isRoot, report, run });
  const becomes = user !== undefined && (await canServe(checkout, user, keyFilesOf(settings), run)) ? user : undefined;
  const owner = becomes ?? { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };

  const wanted = resolve(settings.TREADLE_DATA_DIR);
  const dataDir = await prepareDataDir({ wanted, traveller: user, owner, report });
  const giveUp = await claimInstance(dataDir);
  let preparing: ReturnType<typeof prepareRunDisks> | undefined;
  let sandboxUsers: SandboxUsers | undefined;
  const release = async () => {
    await sandboxUsers?.users?.close();
    await (await (await preparing)?.ready)?.close();
    await giveUp();
  };
  try {
    const paths = await layOutDataDir(dataDir, owner);
    const parts = { env, settings, dataDir, paths, user, becomes, isRoot, report, run };
    preparing = prepareRunDisks({ dataDir, owner, size: runDisksSizeOf(settings), run });
    const { temporal, ...found } = await findParts(parts);
    sandboxUsers = found.sandboxUsers;
    const network = await findNetwork({ ...parts, problems: found.problems, sandboxUsers });
    const readCertificate = () => prepareCertificate(settings, paths.tls);
    const own = { env, dataDir, paths, readCertificate, release };
    const machine = { ...found, network, runDisks: (await preparing).ready, ...own };
    if (becomes === undefined) {
      if (user !== undefined) report(explainRoot(user, checkout));
      return {
        ...machine,
        temporal: undefined,
        runAs: user === undefined ? undefined : { uid: user.uid, gid: user.gid },
      };
    }
    for (const path of [paths.tls, paths.runtime]) await handOverNew(path, becomes);
    await delegateCgroups(becomes);
    report(`Started as root; the service itself runs as ${becomes.name} (uid ${becomes.uid}) from here on.`);
    dropPrivileges(becomes, { identity: process, env, home: paths.runtime });
    return { ...machine, cacheDir: paths.runtime, temporal, runAs: undefined };
  } catch (error) {
    await release();
    throw error;
  }
}

/** What is looked for, and may be fetched, all at once as far as nothing of it needs another's result: a start should be short. */
async function findParts(deps: Omit<Parts, "problems"> & { readonly dataDir: string; readonly paths: DataPaths }) {
  const { env, settings, paths, user, becomes, isRoot, report, run } = deps;
  const cacheDir = findCacheDir(env);
  const common = { env, isRoot, mayInstall: settings.TREADLE_INSTALL !== "never", runAs: user, report, run };
  const ahead = { env, cacheDir, runtimeDir: paths.runtime, report, run };
  const giveUp = new AbortController();

  const python = findPython(common);
  const sandboxing = prepareSandboxing(settings, common);
  const sandboxUsers = Promise.all([python, sandboxing]).then(([found, tools]) =>
    findSandboxUsers({ ...deps, ...tools, python: found }),
  );
  const parts = [
    python,
    python.then(({ path }) =>
      findUv({ ...common, cacheDir, runtimeDir: paths.runtime, pythonPath: path, now: Date.now }),
    ),
    sandboxing,
    sandboxUsers,
    prepareCertificate(settings, paths.tls),
    readPackageSettings(env),
    readClusterEntry(settings),
    becomes === undefined
      ? Promise.resolve(undefined)
      : fetchTemporalAhead({ ...ahead, user: becomes, signal: giveUp.signal }),
  ] as const;
  try {
    const [python, uv, tools, sandboxUsers, certificate, packageSettings, cluster, temporal] = await Promise.all(parts);
    return { cacheDir, python, uv, ...tools, sandboxUsers, certificate, packageSettings, cluster, temporal };
  } catch (error) {
    giveUp.abort(); // a build of Temporal takes minutes
    await Promise.allSettled(parts);
    await sandboxUsers.then(
      ({ users }) => users?.close(),
      () => undefined,
    );
    throw error;
  }
}

/** What the service reads after it has become another user, and could not if only root may. */
function keyFilesOf({ TREADLE_MASTER_KEY_FILE: file }: Settings): string[] {
  return file === undefined ? [] : [resolve(file)];
}

/** bubblewrap, and whether it works here. Problems are reported and handed on: `/readyz` and `doctor` tell them, too. */
async function prepareSandboxing(
  settings: Settings,
  common: Parameters<typeof prepareTools>[0],
): Promise<Pick<Machine, "bwrapPath" | "gvisor" | "problems">> {
  if (settings.TREADLE_ISOLATION === "none") return { bwrapPath: "bwrap", gvisor: undefined, problems: [] };
  const [{ found, problems }, runtime] = await Promise.all([
    prepareTools(common),
    findRuntime({ settings, ...common }),
  ]);
  const bwrapPath = found.bwrap?.path;
  const refusal =
    bwrapPath === undefined
      ? undefined
      : await probeUserNamespaces({ bwrapPath, runAs: common.runAs, run: common.run });
  const all = [
    ...problems,
    ...(refusal === undefined ? [] : [refusal]),
    ...(runtime.kind === "missing" ? [runtime.problem] : []),
  ];
  for (const problem of all) common.report(problem);
  const gvisor = runtime.kind === "gvisor" ? { runscPath: runtime.runscPath } : undefined;
  return { bwrapPath: bwrapPath ?? "bwrap", gvisor, problems: all };
}

interface Parts {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly settings: Settings;
  readonly user: ServiceUser | undefined;
  readonly becomes: ServiceUser | undefined;
  readonly isRoot: boolean;
  readonly problems: readonly string[];
  readonly report: (line: string) => void;
  readonly run: RunCommand;
}

/** Kernel users of sandboxes; then others may pass through the data folder to what is theirs, and never list it. */
async function findSandboxUsers(
  parts: Parts & {
    readonly paths: DataPaths;
    readonly dataDir: string;
    readonly python: Python;
    readonly bwrapPath: string;
  },
): Promise<SandboxUsers> {
  const { settings, user, problems, paths, dataDir, isRoot, python } = parts;
  if (settings.TREADLE_ISOLATION === "none") return { users: undefined, message: "programs run as the service's user" };
  if (problems.length > 0) return { users: undefined, message: "no sandbox can be made" };
  const passed = [dataDir, paths.spool, paths.lanes, paths.commits, paths.environments, paths.runtime];
  const before = (await stat(dataDir)).mode;
  await chmod(dataDir, 0o711);
  const found = await prepareSandboxUsers({
    ...parts,
    owner: user ?? findSelf(),
    isRoot,
    dataDir,
    passed,
    python: python.path,
  });
  if (found.users === undefined) await chmod(dataDir, before);
  else if (!isRoot) process.umask(PASSABLE_UMASK);
  return found;
}

async function findNetwork(parts: Parts & { readonly sandboxUsers: SandboxUsers }): Promise<NetworkTools | undefined> {
  const { env, settings, becomes, isRoot, problems, report, run, sandboxUsers } = parts;
  const isOff =
    settings.TREADLE_ISOLATION === "none" ||
    settings.TREADLE_NETWORK_SLOTS === 0 ||
    settings.TREADLE_SANDBOX_RUNTIME !== "bubblewrap";
  if (isOff || settings.TREADLE_ROLE === "api" || problems.length > 0) return undefined;
  const within = (await sandboxUsers.users?.enterAsOwner()) ?? [];
  return prepareNetworkTools({
    env,
    isRoot,
    mayInstall: settings.TREADLE_INSTALL !== "never",
    report,
    run,
    becomes,
    within,
  });
}

async function prepareCertificate(settings: Settings, dir: string): Promise<Certificate> {
  const given = await readGivenCertificate({
    certFile: settings.TREADLE_TLS_CERT,
    keyFile: settings.TREADLE_TLS_KEY,
    now: Date.now,
  });
  if (given !== undefined) return given;
  const publicHost =
    settings.TREADLE_PUBLIC_URL === undefined
      ? []
      : [new URL(settings.TREADLE_PUBLIC_URL).hostname.replace(/^\[|\]$/g, "")];
  return ensureCertificate({ dir, hostNames: [hostname(), settings.TREADLE_HOST, ...publicHost], now: Date.now });
}

/** Read now: root's own configuration cannot be read any more when the service has become another user. */
async function readPackageSettings(env: Readonly<Record<string, string | undefined>>): Promise<Record<string, string>> {
  const settings = await collectPackageSettings(env, env.HOME || homedir());
  return Object.fromEntries(
    Object.entries(settings).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
}

function explainRoot(user: ServiceUser, checkout: string): string {
  return `Started as root, and ${user.name} cannot read ${checkout}: the service stays root; PostgreSQL, Temporal and every program run as ${user.name} (uid ${user.uid}).`;
}
