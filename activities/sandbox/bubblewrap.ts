import { lstatSync, readlinkSync } from "node:fs";
import { join } from "node:path";

/** Paths inside the sandbox; `runner/protocol.md` promises the first three to user code. */
export const INSIDE = {
  work: "/app",
  commit: "/commit",
  environment: "/env",
  runner: "/runner",
  scratch: ["/app", "/tmp", "/dev/shm"],
} as const;

/** Who user code is inside its namespace. Outside it is whoever starts bubblewrap, which must not be root. */
const INSIDE_ID = "10001";

export interface Mount {
  readonly from: string;
  readonly to: string;
}

export interface SandboxFolders {
  readonly runnerDir: string;
  /** Folders outside `/usr` that the interpreter needs; they keep their paths. */
  readonly interpreterPaths: readonly string[];
  readonly commitDir: string;
  readonly environmentDir: string | null;
  readonly outputsDir: string;
  /** Input files, by their paths inside. */
  readonly inputs: readonly Mount[];
  readonly scratchBytes: number;
  /** Set when bubblewrap runs in an empty network namespace made for this sandbox already. */
  readonly hasNetworkNamespace: boolean;
}

/**
 * What `bwrap --args` reads: one single-use sandbox, without network, that ends when its parent does.
 * The seccomp filter and the
 * program are on its command line already. Order matters: bubblewrap makes the mounts one after the other, and locks `/` and `/dev` last.
 */
export function toBubblewrapArguments(folders: SandboxFolders): string[] {
  const readOnly = (from: string, to: string) => ["--ro-bind", from, to];
  const scratch = (path: string, mode: string) => [
    "--size",
    String(folders.scratchBytes),
    "--perms",
    mode,
    "--tmpfs",
    path,
  ];
  const environment = folders.environmentDir;
  return [
    // --unshare-all only tries for a user namespace; the second flag makes the lack of one an error.
    ...[
      "--unshare-all",
      ...(folders.hasNetworkNamespace ? ["--share-net"] : []),
      "--unshare-user",
      "--disable-userns",
      "--uid",
      INSIDE_ID,
      "--gid",
      INSIDE_ID,
    ],
    ...["--hostname", "sandbox", "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--clearenv"],
    ...toSetenv(toVariables("/tmp", environment === null ? null : INSIDE.environment)),
    ...readOnly("/usr", "/usr"),
    ...rootLinks(),
    ...folders.interpreterPaths.flatMap((path) => readOnly(path, path)),
    ...readOnly(join(folders.runnerDir, "etc"), "/etc"),
    ...readOnly(folders.runnerDir, INSIDE.runner),
    ...readOnly(folders.commitDir, INSIDE.commit),
    ...(environment === null ? [] : readOnly(environment, INSIDE.environment)),
    ...["--proc", "/proc", "--dev", "/dev"],
    ...scratch("/dev/shm", "1777"),
    ...scratch("/tmp", "1777"),
    ...scratch(INSIDE.work, "0700"),
    ...["--dir", `${INSIDE.work}/inputs`],
    ...folders.inputs.flatMap(({ from, to }) => readOnly(from, join(INSIDE.work, to))),
    ...["--bind", folders.outputsDir, `${INSIDE.work}/outputs`],
    // Both are tmpfs of half the machine's memory, and writable, until they are locked.
    ...["--remount-ro", "/dev", "--remount-ro", "/"],
    ...["--chdir", INSIDE.work],
  ];
}

/** The whole environment of user code. Nothing of the service's own environment is in it. */
export function toVariables(home: string, environmentDir: string | null) {
  const path = "/usr/local/bin:/usr/bin:/bin";
  const variables = { HOME: home, USER: "user", LANG: "C.UTF-8" };
  if (environmentDir === null) return { ...variables, PATH: path };
  return { ...variables, PATH: `${environmentDir}/bin:${path}`, VIRTUAL_ENV: environmentDir };
}

function toSetenv(variables: Record<string, string>): string[] {
  return Object.entries(variables).flatMap(([name, value]) => ["--setenv", name, value]);
}

/** `/bin`, `/lib` and so on as the host has them: links into `/usr` nearly everywhere, folders of their own on Alpine. */
function rootLinks(): string[] {
  return ["bin", "sbin", "lib", "lib32", "lib64", "libx32"].flatMap((name) => {
    const path = `/${name}`;
    const stats = lstatSync(path, { throwIfNoEntry: false });
    if (stats === undefined) return [];
    return stats.isSymbolicLink() ? ["--symlink", readlinkSync(path), path] : ["--ro-bind", path, path];
  });
}
