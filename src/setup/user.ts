import { join } from "node:path";
import type { RunAs } from "./servers/child.ts";
import type { RunCommand } from "./servers/command.ts";

const NAME = "treadle";
const FALLBACK = "nobody";
/** Where the programs that manage users and packages are; `sbin` is rarely on the PATH of a container. */
export const SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/** A user without a login, a home, or a password, under whom PostgreSQL, Temporal and every program run. */
export interface ServiceUser extends RunAs {
  readonly name: string;
}

/**
 * The unprivileged user of a service that was started as root: `treadle`, made when it is missing, or `nobody` where
 * that cannot be. Undefined for everybody else: an ordinary user runs everything as itself. Rejects where this root
 * cannot become another user at all.
 */
export async function prepareServiceUser(deps: {
  isRoot: boolean;
  report: (line: string) => void;
  run: RunCommand;
}): Promise<ServiceUser | undefined> {
  const { isRoot, report, run } = deps;
  if (!isRoot) return undefined;
  const user = (await findUser(NAME, run)) ?? (await createUser(deps)) ?? (await findUser(FALLBACK, run));
  if (user === undefined) {
    throw new Error(
      `Treadle was started as root and needs the user ${NAME} for what must not be root. Make it (useradd --system ${NAME}), or start Treadle as an ordinary user.`,
    );
  }
  if (user.name === FALLBACK) report(`The user ${NAME} could not be made; using ${FALLBACK}.`);
  const trial = await run("/bin/sh", ["-c", "exit 0"], { env: {}, runAs: user });
  if (trial.code !== 0) {
    throw new Error(
      `Treadle was started as root, but this root cannot become ${user.name} (${trial.tail.at(-1) ?? "no reason given"}). Start Treadle as an ordinary user, or give the container the capabilities SETUID and SETGID.`,
    );
  }
  return user;
}

/** The user of this name, when there is one. A user that is root under another name is refused. */
export async function findUser(name: string, run: RunCommand): Promise<ServiceUser | undefined> {
  const ask = async (flag: string) => run("id", [flag, name], { env: { PATH: SYSTEM_PATH } });
  const [uid, gid] = await Promise.all([ask("-u"), ask("-g")]);
  if (uid.code !== 0 || gid.code !== 0) return undefined;
  const user = { name, uid: Number(uid.stdout), gid: Number(gid.stdout) };
  if (user.uid === 0)
    throw new Error(
      `The user ${name} of this system is root (uid 0). Delete it, or start Treadle as an ordinary user.`,
    );
  return user;
}

/** Returns what to look at this machine with, as a service started by this user would: it changes and installs nothing. */
export async function findOnlooker(run: RunCommand) {
  const isRoot = process.getuid?.() === 0;
  const runAs = isRoot ? await findServiceUser(run) : undefined;
  return { isRoot, runAs, mayInstall: false, report: () => undefined, run };
}

/** The user `treadle`, for a start as root that is not to change anything. */
export async function findServiceUser(run: RunCommand): Promise<ServiceUser | undefined> {
  return (await findUser(NAME, run)) ?? findUser(FALLBACK, run);
}

/** By `useradd` (Debian, Fedora, SUSE), else by BusyBox's `adduser` (Alpine). Undefined when neither can. */
async function createUser({
  report,
  run,
}: {
  report: (line: string) => void;
  run: RunCommand;
}): Promise<ServiceUser | undefined> {
  const options = { env: { PATH: SYSTEM_PATH } };
  const home = "/nonexistent";
  await run(
    "useradd",
    ["--system", "--user-group", "--no-create-home", "--home-dir", home, "--shell", "/bin/false", NAME],
    options,
  );
  let user = await findUser(NAME, run); // asked, not told: another start may have been quicker
  if (user === undefined) {
    await run("addgroup", ["-S", NAME], options);
    await run("adduser", ["-S", "-D", "-H", "-h", home, "-s", "/bin/false", "-G", NAME, NAME], options);
    user = await findUser(NAME, run);
  }
  if (user !== undefined)
    report(`Made the system user ${NAME} (uid ${user.uid}): servers and programs run as it, never as root.`);
  return user;
}

/**
 * Whether that user can do the whole service's work: execute this Node.js, read build, packages, runner, examples and
 * `keyFiles`. Then the service itself need not stay root. Asked of the system in one go, in that user's name.
 */
export async function canServe(
  checkout: string,
  user: RunAs,
  keyFiles: readonly string[],
  run: RunCommand,
): Promise<boolean> {
  const files = [
    "package.json",
    "dist/command/start.js",
    "node_modules/pg/package.json",
    "dist/runner/main.py",
    "examples",
  ];
  const script = 'test -x "$1" || exit 1; shift; for path; do test -r "$path" || exit 1; done';
  const paths = [process.execPath, ...files.map((path) => join(checkout, path)), ...keyFiles];
  const { code } = await run("/bin/sh", ["-c", script, "sh", ...paths], { env: {}, runAs: user });
  return code === 0;
}

/** What is made is ours alone, but folders may be passed by name: sandboxes, whose users are others, come to theirs that way. */
export const PASSABLE_UMASK = 0o066;

/** The part of `process` that changes who it is. */
export type Identity = Pick<NodeJS.Process, "setgroups" | "setgid" | "setuid" | "getuid" | "getgid" | "umask">;

/**
 * Makes this process the user's for good, groups and umask included, and checks that root cannot be had back. `env` gets
 * the user's name and `home`, and loses root's folders.
 */
export function dropPrivileges(
  user: ServiceUser,
  { identity, env, home }: { identity: Identity; env: Record<string, string | undefined>; home: string },
): void {
  identity.setgroups?.([user.gid]);
  identity.setgid?.(user.gid);
  identity.setuid?.(user.uid);
  if (identity.getuid?.() !== user.uid || identity.getgid?.() !== user.gid || canReturn(identity)) {
    throw new Error(`Treadle could not give up root for the user ${user.name}. Start it as an ordinary user.`);
  }
  identity.umask(PASSABLE_UMASK);
  for (const name of Object.keys(env)) if (/^XDG_\w+_(HOME|DIR)$/.test(name)) delete env[name];
  Object.assign(env, { HOME: home, USER: user.name, LOGNAME: user.name });
}

function canReturn(identity: Identity): boolean {
  try {
    identity.setuid?.(0);
    return true;
  } catch {
    return false;
  }
}
