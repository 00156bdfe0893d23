import { lstatSync, readlinkSync } from "node:fs";
import { DEVICES } from "../sandbox/bubblewrap.ts";
import type { KernelUsers } from "../sandbox/users/kernel-users.ts";

export interface User {
  readonly uid: number;
  readonly gid: number;
}

export interface Confinement {
  /** `none`: installers run under the limits of their user only, and with the network. */
  readonly isolation: "bubblewrap" | "none";
  readonly bwrapPath: string;
  /** Whom installers run as; required when the service is root. */
  readonly runAs: User | undefined;
  /** Whom code of packages runs as; as installers, where there are none. */
  readonly users: Pick<KernelUsers, "take" | "measure"> | undefined;
}

/** A program to start, with its whole environment. Secrets are in the environment, never in the arguments. */
export interface Program {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

export interface Binding {
  readonly from: string;
  readonly to: string;
  readonly writable?: boolean;
}

/** The descriptor of the seccomp filter, where a program gets one. */
export const FILTER_FD = 3;
/** Of each place in memory where foreign code may write; what it makes is on the disk, where it is measured. */
const MEMORY_FOLDER_BYTES = 64 * 1024 * 1024;

/** Processes of their own that end with us, no rights to gain, no terminal. */
const ALONE = [
  "--unshare-user",
  "--unshare-pid",
  "--unshare-ipc",
  "--unshare-uts",
  "--die-with-parent",
  "--new-session",
  "--cap-drop",
  "ALL",
];

/**
 * For resolving and downloading: the machine's network and its files as its user may read them, but nothing can be
 * written outside of one folder. Only our installer runs here, never code of a package. Hidden folders are empty in it.
 */
export function confineWithNetwork(
  confinement: Confinement,
  program: Program,
  writableDir: string,
  hiddenFolders: readonly string[] = [],
): Program {
  if (confinement.isolation === "none") return program;
  const args = [
    ...ALONE,
    "--ro-bind",
    "/",
    "/",
    "--dev",
    "/dev",
    "--proc",
    "/proc",
    "--bind",
    writableDir,
    writableDir,
    ...hiddenFolders.flatMap((path) => ["--tmpfs", path]),
  ];
  return {
    command: confinement.bwrapPath,
    args: [...args, "--chdir", "/", "--", program.command, ...program.args],
    env: program.env,
  };
}

/**
 * For unpacking and compiling what strangers have packed: no network, and of the machine's files only `/usr`, the
 * interpreter and what is bound.
 */
export function confineWithoutNetwork(
  confinement: Confinement,
  program: Program,
  bindings: readonly Binding[],
): Program {
  if (confinement.isolation === "none") return program;
  const args = [
    [...ALONE, "--unshare-net", "--unshare-cgroup-try", "--disable-userns"],
    ["--ro-bind", "/usr", "/usr", ...rootLinks(), "--ro-bind-try", "/etc/ld.so.cache", "/etc/ld.so.cache"],
    ["--proc", "/proc", ...DEVICES, "--tmpfs", "/tmp"],
    bindings.flatMap(({ from, to, writable }) => [writable === true ? "--bind" : "--ro-bind", from, to]),
    ["--remount-ro", "/", "--chdir", "/tmp", "--"],
  ].flat();
  return { command: confinement.bwrapPath, args: [...args, program.command, ...program.args], env: program.env };
}

/**
 * For code of a package while it is built. It has no network, and nothing of the machine but `/usr`, the interpreter
 * and what is bound. It has a seccomp filter, which `startForeignCode` hands over as `FILTER_FD`. Never without a
 * sandbox.
 */
export function confineForeignCode(confinement: Confinement, program: Program, bindings: readonly Binding[]): Program {
  if (confinement.isolation === "none") throw new Error("Packages are built in sandboxes only.");
  const inMemory = (path: string): string[] => ["--size", String(MEMORY_FOLDER_BYTES), "--tmpfs", path];
  const args = [
    [...ALONE, "--unshare-net", "--unshare-cgroup-try", "--disable-userns", "--seccomp", String(FILTER_FD)],
    ["--ro-bind", "/usr", "/usr", ...rootLinks(), "--ro-bind-try", "/etc/ld.so.cache", "/etc/ld.so.cache"],
    ["--ro-bind-try", "/etc/alternatives", "/etc/alternatives"], // where `cc` is a link to
    ["--proc", "/proc", ...DEVICES, ...inMemory("/dev/shm"), ...inMemory("/tmp")],
    bindings.flatMap(({ from, to, writable }) => [writable === true ? "--bind" : "--ro-bind", from, to]),
    ["--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/tmp", "--"],
  ].flat();
  return { command: confinement.bwrapPath, args: [...args, program.command, ...program.args], env: program.env };
}

/** `/bin`, `/lib` and their like: links into `/usr` on most systems, folders on some. */
function rootLinks(): string[] {
  return ["/bin", "/sbin", "/lib", "/lib64"].flatMap((path) => {
    const stats = lstatSync(path, { throwIfNoEntry: false });
    if (stats === undefined) return [];
    return stats.isSymbolicLink() ? ["--symlink", readlinkSync(path), path] : ["--ro-bind", path, path];
  });
}
