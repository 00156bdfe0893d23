import type { Db } from "../../db/connect.ts";
import { messageOf } from "../../domain/message-of.ts";
import type { CgroupFolders } from "../../sandbox/cgroup-folders.ts";
import { DISKS_NEED } from "../../sandbox/run-disks.ts";
import type { Storage } from "../../storage/storage.ts";
import { withTimeout } from "../../system/with-timeout.ts";
import { describeLargest } from "../setup/folder-sizes.ts";
import type { SandboxUsers } from "../setup/sandbox-users.ts";
import type { Temporal } from "../setup/servers/temporal.ts";
import { describePorts } from "../setup/servers/temporal-enclosure.ts";
import type { TemporalClient } from "../temporal/client.ts";

const CHECK_MS = 1_000;
const CACHE_MS = 2_000;
const LARGEST_FOR_MS = 60_000;
const STOPPING: Check = {
  ok: false,
  message: "The process was asked to stop. Send calls elsewhere, or after its restart.",
};

export interface Check {
  readonly ok: boolean;
  /** What is wrong and what to do; what is right, in a few words. */
  readonly message: string;
}

export interface Readiness {
  readonly ready: boolean;
  readonly checks: Record<string, Check>;
}

/** Looks at everything an execution needs, each within a second, at most once in two seconds. */
export function createReadiness(deps: {
  db: Db;
  storage: Storage;
  temporalClient: TemporalClient;
  isolation: "sandbox" | "none";
  /** Whether sandboxes run programs in gVisor. */
  isInGvisor: boolean;
  isolationProblems: readonly string[];
  /** Why executions of warm code start cold all the same. They run, so this keeps nobody from being ready. */
  laneProblem: () => string | undefined;
  /** Whose kernel users sandboxes are, and why none can be started now; executions run with any users. */
  sandboxUsers: SandboxUsers;
  /** Why outputs are measured, and not counted by the kernel. Executions run, so this keeps nobody from being ready. */
  runDisksProblem: string | undefined;
  /** Where limits are the kernel's to hold; undefined where they are measured. Executions run all the same. */
  cgroups: CgroupFolders | undefined;
  /** Why executions that ask for a network are refused; the others run. */
  networkProblem: () => string | undefined;
  /** Our own Temporal: who reaches its ports. It runs all the same, so this keeps nobody from being ready. */
  temporal: Pick<Temporal, "pages" | "openPortsProblem">;
  /** Commits that cannot run on this host. The others run, so this keeps nobody from being ready. */
  commitProblems: () => readonly { readonly isBeingMade: boolean }[];
  /** Why no execution begins for want of disk. Results are given all the same, so this keeps nobody from being ready. */
  diskProblem: () => string | undefined;
  /** How many executions have a slot and wait for room on the disk. */
  diskWaiting: () => number;
  dataDir: string;
  /** Whether the process may have as many files open as it needs for its connections. */
  descriptors: Check;
  /** Whether the process was asked to stop: from then on it is not ready. */
  isStopping: () => boolean;
}): () => Promise<Readiness> {
  const disk = createDiskCheck(deps);
  let cached: { at: number; readiness: Promise<Readiness> } | undefined;

  async function look(): Promise<Readiness> {
    const [database, temporal, storage] = await Promise.all([
      check("PostgreSQL answers.", deps.db.raw("select 1")),
      check("Temporal answers.", deps.temporalClient.check()),
      check("Storage can be written and read.", deps.storage.check()),
    ]);
    const checks = { database, temporal, storage, isolation: isolationCheck(deps) };
    const ready = Object.values(checks).every((each) => each.ok);
    return {
      ready,
      checks: {
        ...checks,
        users: usersCheck(deps.sandboxUsers),
        lanes: laneCheck(deps.laneProblem()),
        limits: limitsCheck(deps.cgroups),
        outputs: outputsCheck(deps.runDisksProblem),
        network: networkCheck(deps.networkProblem()),
        commits: commitsCheck(deps.commitProblems()),
        disk: await disk(),
        connections: { ok: deps.descriptors.ok, message: deps.descriptors.message },
        ...portsChecks(deps.temporal),
      },
    };
  }

  return async () => {
    if (cached === undefined || Date.now() - cached.at > CACHE_MS) cached = { at: Date.now(), readiness: look() };
    const { ready, checks } = await cached.readiness;
    return deps.isStopping() ? { ready: false, checks: { ...checks, stopping: STOPPING } } : { ready, checks };
  };
}

/**
 * The same, and not ready while the port for callers is not open. A rollout that asks on another port would send calls
 * to one that is not there yet.
 */
export function readyOnceOpen(readiness: () => Promise<Readiness>, isOpen: () => boolean): () => Promise<Readiness> {
  return async () => {
    const state = await readiness();
    if (isOpen()) return state;
    const callers = { ok: false, message: "The port for callers is not open yet." };
    return { ready: false, checks: { ...state.checks, callers } };
  };
}

async function check(success: string, probe: PromiseLike<unknown>): Promise<Check> {
  const answer = probe.then(
    () => ({ ok: true, message: success }),
    (error: unknown) => ({ ok: false, message: messageOf(error) }),
  );
  return withTimeout(answer, CHECK_MS, () => ({ ok: false, message: `No answer within ${CHECK_MS} ms.` }));
}

/**
 * Reports what is large in the data folder only where the operator has to look, and seldom: it takes a walk through all
 * of it.
 */
function createDiskCheck({
  diskProblem,
  diskWaiting,
  dataDir,
}: {
  diskProblem: () => string | undefined;
  diskWaiting: () => number;
  dataDir: string;
}) {
  let largest: { readonly at: number; readonly text: Promise<string> } | undefined;
  return async (): Promise<Check> => {
    const problem = diskProblem();
    const waiting = diskWaiting();
    if (problem === undefined && waiting === 0) return { ok: true, message: "There is room for outputs." };
    if (largest === undefined || Date.now() - largest.at > LARGEST_FOR_MS)
      largest = { at: Date.now(), text: describeLargest(dataDir) };
    const text = await withTimeout(largest.text, CHECK_MS, () => "being counted");
    const state =
      problem === undefined
        ? `Executions that wait until others give up room on the disk: ${waiting}.`
        : `No execution begins: ${problem}`;
    return { ok: problem === undefined, message: `${state} Largest in the data folder: ${text}.` };
  };
}

function usersCheck({ users, message }: SandboxUsers): Check {
  const problem = users?.problem();
  return problem === undefined ? { ok: true, message: toSentence(message) } : { ok: false, message: problem };
}

function toSentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${text.endsWith(".") ? "" : "."}`;
}

function laneCheck(problem: string | undefined): Check {
  if (problem === undefined) return { ok: true, message: "Executions of warm code are served by lanes." };
  return { ok: false, message: `Every execution starts cold: ${problem}` };
}

/** Both are as they may be; what is weaker is reported all the same. */
export function outputsCheck(problem: string | undefined): Check {
  if (problem === undefined)
    return { ok: true, message: "Each program writes to a disk of its own: the kernel bounds all that it writes." };
  return {
    ok: true,
    message: `What programs write is measured ten times a second, and bounded by nothing else: there are no disks for programs, because ${problem}. ${DISKS_NEED} Scratch folders cannot be on disk: no workflow may have more in limits.scratch than in limits.memory.`,
  };
}

/** What holds programs to their memory and their share of the processors, and what is weaker without cgroups. */
export function limitsCheck(cgroups: CgroupFolders | undefined): Check {
  if (cgroups === undefined)
    return {
      ok: true,
      message:
        "There are no cgroups: memory is measured five times a second, sockets may hold limits.memory once more, and processor time is billed as used. For cgroups, see Under systemd in docs/operating.md.",
    };
  const version = `cgroups version ${cgroups.version}`;
  if (cgroups.cpu !== undefined) return { ok: true, message: `The kernel bounds memory and processors by ${version}.` };
  return { ok: true, message: `The kernel bounds memory by ${version}; processor time is billed as used.` };
}

function networkCheck(problem: string | undefined): Check {
  if (problem === undefined)
    return { ok: true, message: "Executions that ask for it reach the public internet, and nothing else." };
  return { ok: false, message: `Workflows with limits.network are refused: ${problem}` };
}

/** Without a name or an id: strangers may ask. */
function commitsCheck(problems: readonly { readonly isBeingMade: boolean }[]): Check {
  if (problems.length === 0) return { ok: true, message: "Every workflow has its Python and its packages." };
  const making = problems.filter(({ isBeingMade }) => isBeingMade).length;
  const lacking = problems.length - making;
  const parts = [
    ...(lacking === 0 ? [] : [`${lacking} cannot run: this host lacks their Python or their packages.`]),
    ...(making === 0 ? [] : [`${making} cannot run yet: packages are being made for this host's Python.`]),
  ];
  return { ok: false, message: `Of the workflows, ${parts.join(" ")} bin/treadle doctor names them.` };
}

/** None for a cluster that is not ours. */
function portsChecks({ pages, openPortsProblem }: Pick<Temporal, "pages" | "openPortsProblem">): Record<string, Check> {
  if (pages === undefined) return {};
  return { temporalPorts: describePorts(openPortsProblem) };
}

function isolationCheck(deps: {
  isolation: "sandbox" | "none";
  isInGvisor: boolean;
  isolationProblems: readonly string[];
}): Check {
  const { isolation, isInGvisor, isolationProblems: problems } = deps;
  if (isolation === "none") {
    return { ok: true, message: "Off (TREADLE_ISOLATION=none): programs have the rights of the service's own user." };
  }
  if (problems.length > 0) return { ok: false, message: `Programs are not run: ${problems.join(" ")}` };
  const inside = isInGvisor ? " with gVisor in it" : "";
  return { ok: true, message: `Each execution has a sandbox of its own${inside}; it tested itself.` };
}
