import { writeFile } from "node:fs/promises";
import { messageOf } from "../../domain/message-of.ts";
import { type KernelUsers, openKernelUsers } from "../../sandbox/users/kernel-users.ts";
import { listPrograms } from "./programs.ts";
import { chooseSandboxIds, readIdFiles, type SandboxIds } from "./sandbox-ids.ts";
import type { RunAs } from "./servers/child.ts";
import type { RunCommand } from "./servers/command.ts";
import { SYSTEM_PATH } from "./user.ts";

const TRIAL_TIMEOUT_MS = 10_000;
const SHARED = "sandboxes share the service's kernel user, so limits that the kernel counts per user are common to all";

/** Whose kernel users the sandboxes are, and the users themselves where they are not the service's own. */
export interface SandboxUsers {
  readonly users: KernelUsers | undefined;
  /** In words, for `/readyz` and `doctor`; with what to do, where sandboxes have no users of their own. */
  readonly message: string;
}

export interface SandboxUsersDeps {
  readonly owner: { readonly name: string; readonly uid: number; readonly gid: number };
  /** Whether this process is root now. */
  readonly isRoot: boolean;
  readonly dataDir: string;
  /** Folders that sandboxes must be able to pass. */
  readonly passed: readonly string[];
  readonly python: string;
  readonly bwrapPath: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly run: RunCommand;
}

/**
 * Gives each sandbox a kernel user of its own where that is possible. Root uses ids that nobody has, an ordinary user
 * subordinate ids. A first command is run as one of them. Never rejects: what stands in the way is said.
 */
export async function prepareSandboxUsers(deps: SandboxUsersDeps): Promise<SandboxUsers> {
  const { owner, isRoot, dataDir, env } = deps;
  const ids = chooseSandboxIds(await readIdFiles(), { ...owner, isRoot, dataDir });
  if (ids === undefined) return { users: undefined, message: `${SHARED}. ${explainNoIds(owner, isRoot)}` };
  const [nsenter, newuidmap, newgidmap] = await Promise.all(
    ["nsenter", "newuidmap", "newgidmap"].map(
      async (name) => (await listPrograms(name, `${env.PATH ?? ""}:${SYSTEM_PATH}`))[0],
    ),
  );
  if (nsenter === undefined) return { users: undefined, message: `${SHARED}. Install util-linux, which has nsenter.` };
  const maps = { newuidmap, newgidmap };
  if (!isRoot && (newuidmap === undefined || newgidmap === undefined))
    return {
      users: undefined,
      message: `${SHARED}. Install newuidmap and newgidmap (the package uidmap or shadow-utils).`,
    };
  const runAs = isRoot ? { uid: owner.uid, gid: owner.gid } : undefined;
  const giveMap = (pid: number) => (isRoot ? writeMaps(pid, owner, ids) : runMappers(pid, { ...deps, ids, maps }));
  try {
    const users = await openKernelUsers({ ...ids, runAs, python: deps.python, nsenter, giveMap });
    const refusal = await tryUser(users, { ...deps, runAs });
    if (refusal === undefined) return { users, message: describe(ids) };
    await users.close();
    return { users: undefined, message: `${SHARED}. ${refusal}` };
  } catch (error) {
    return { users: undefined, message: `${SHARED}. ${messageOf(error)}` };
  }
}

function describe({ firstId, count, source }: SandboxIds): string {
  const by = source === "root" ? "given by root" : "subordinate ids";
  return `each sandbox is a kernel user of its own (ids ${firstId}–${firstId + count - 1}, ${by})`;
}

function explainNoIds({ name }: { readonly name: string }, isRoot: boolean): string {
  if (isRoot) return "This container has too few user ids for more: start it with a larger range.";
  return `Give ${name} subordinate ids (usermod --add-subuids 100000-165535 --add-subgids 100000-165535 ${name}, and the package uidmap), or start the service as root.`;
}

/** Id 0 of the namespace is the service's user, the others are those of sandboxes. */
async function writeMaps(pid: number, owner: RunAs, { firstId, firstGroupId, count }: SandboxIds): Promise<void> {
  await writeFile(`/proc/${pid}/uid_map`, `0 ${owner.uid} 1\n1 ${firstId} ${count}\n`);
  await writeFile(`/proc/${pid}/gid_map`, `0 ${owner.gid} 1\n1 ${firstGroupId} ${count}\n`);
}

async function runMappers(
  pid: number,
  deps: SandboxUsersDeps & {
    readonly ids: SandboxIds;
    readonly maps: { readonly newuidmap: string | undefined; readonly newgidmap: string | undefined };
  },
): Promise<void> {
  const { owner, ids, maps, run } = deps;
  for (const [program = "", own, first] of [
    [maps.newuidmap, owner.uid, ids.firstId],
    [maps.newgidmap, owner.gid, ids.firstGroupId],
  ] as const) {
    const range = [pid, 0, own, 1, 1, first, ids.count].map(String);
    const { code, tail } = await run(program, range, { env: {}, timeoutMs: TRIAL_TIMEOUT_MS });
    if (code !== 0) throw new Error(`${program} refused: ${tail.at(-1) ?? `code ${code}`}`);
  }
}

/** Everything that a sandbox begins with, in one command, as each costs a start some time. */
const TRIAL = `
python=$1 bwrap=$2
shift 2
for folder; do test -x "$folder" || { echo "$folder"; exit 3; }; done
"$python" -I -S -c "" || exit 4
exec "$bwrap" --unshare-all --unshare-user --uid 10001 --ro-bind / / -- /usr/bin/env true
`;
const NOT_PASSED = 3;
const NO_PYTHON = 4;

/** Tries what a sandbox of the first user needs. Returns what it could not do. */
async function tryUser(
  users: KernelUsers,
  { run, python, bwrapPath, passed, runAs }: SandboxUsersDeps & { readonly runAs: RunAs | undefined },
): Promise<string | undefined> {
  const user = users.take();
  try {
    const [command = "", ...entering] = await user.enter();
    const trial = ["/bin/sh", "-c", TRIAL, "sh", python, bwrapPath, ...passed];
    const { code, tail } = await run(command, [...entering, ...trial], {
      env: { PATH: "/usr/bin:/bin" },
      runAs,
      timeoutMs: TRIAL_TIMEOUT_MS,
    });
    const said = tail.at(-1) ?? `code ${code}`;
    if (code === 0) return undefined;
    if (code === NOT_PASSED)
      return `Other users cannot pass ${said}: let them (chmod o+x), there and above, or choose another data folder (TREADLE_DATA_DIR).`;
    return code === NO_PYTHON
      ? `Other users cannot run ${python}.`
      : `bubblewrap cannot make a sandbox for them (${said}).`;
  } finally {
    user.release();
  }
}
