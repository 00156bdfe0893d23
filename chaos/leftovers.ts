import { statSync } from "node:fs";
import { join } from "node:path";
import type { Finding } from "./checker/check.ts";
import { findProcess, isAlive, list, type Process, read } from "./processes.ts";

/** Folders of the data dir that hold only what is under way. */
const WORKING_FOLDERS = ["spool", "lanes", "storage/incoming", "commits/.writing", "environments/.building"];
const CGROUPS = "/sys/fs/cgroup";
const CGROUPS_DEPTH_MAX = 4;

/** What the machine had before the run, and so may have after it. */
export interface Before {
  /** Process ids with their start times. */
  readonly processes: ReadonlySet<string>;
  /** A service that was killed long ago may have left some; a process of this run may have its id. */
  readonly cgroups: ReadonlySet<string>;
}

export function lookBefore(): Before {
  const processes = list("/proc").flatMap((entry) => findProcess(Number(entry)) ?? []);
  return { processes: new Set(processes.map(nameOf)), cgroups: new Set(listCgroups(CGROUPS, CGROUPS_DEPTH_MAX)) };
}

/** What is left on the machine after the service has been stopped: processes, mounts, namespaces, cgroups, folders. */
export function findLeftovers(given: {
  readonly before: Before;
  readonly dataDirs: readonly string[];
  /** The run's folder; what is below it may be mounted, and nothing else. */
  readonly folder: string;
  /** Every process ever seen below the service. */
  readonly seen: readonly Process[];
  /** Where the service and its children were told to put temporary files. */
  readonly temporaryDir: string;
}): Finding[] {
  const { dataDirs, folder, seen, temporaryDir } = given;
  const find = (subject: string, text: string): Finding => ({ rule: "left_behind", subject, text });
  const servicePids = new Set(seen.map(({ pid }) => String(pid)));
  return [
    ...seen.filter(isAlive).map(({ pid, command }) => find(`process ${pid}`, `lives: ${command.join(" ")}`)),
    ...listUsers(given).map(({ pid, why }) => find(`process ${pid}`, `still has to do with the data: ${why}`)),
    ...listMounts(folder)
      .filter((mount) => mount !== join(folder, "disk"))
      .map((mount) => find(mount, "is still mounted")),
    ...listCgroups(CGROUPS, CGROUPS_DEPTH_MAX)
      .filter((path) => !given.before.cgroups.has(path))
      .filter((path) => servicePids.has(/\/treadle-(?:trial-)?(\d+)/.exec(path)?.[1] ?? ""))
      .map((path) => find(path, "is a cgroup of ours")),
    ...dataDirs.flatMap((dataDir) =>
      WORKING_FOLDERS.flatMap((name) =>
        list(join(dataDir, name)).map((entry) => find(`${name}/${entry}`, "is still there")),
      ),
    ),
    ...list(temporaryDir).map((entry) => find(entry, "is left in the folder for temporary files")),
    ...dataDirs.flatMap((dataDir) =>
      list(dataDir).includes("ready.json") ? [find("ready.json", "says that the service is up")] : [],
    ),
  ];
}

/** Processes that work in the data dir, have its files open, name it in their command, or have it mounted in a namespace. */
function listUsers(given: {
  before: Before;
  dataDirs: readonly string[];
  folder: string;
}): { pid: number; why: string }[] {
  const { before, dataDirs, folder } = given;
  const device = deviceOf(join(folder, "disk"));
  const ownNamespace = linkOf("self", "mnt");
  return list("/proc").flatMap((entry) => {
    const found = findProcess(Number(entry));
    if (found === undefined || found.pid === process.pid || before.processes.has(nameOf(found))) return [];
    const { pid } = found;
    const command = found.command.join(" ");
    if (dataDirs.some((dir) => command.includes(dir))) return [{ pid, why: command }];
    if (linkOf(entry, "mnt") === ownNamespace) return [];
    // A namespace inherits all mounts of the host, other people's too; what was made for a sandbox shows a folder of ours.
    const isOurs = read(`/proc/${pid}/mountinfo`)
      .split("\n")
      .map((line) => line.split(" "))
      .some(([, , from, root = "/"]) =>
        device === undefined ? root.includes(folder) : from === device && root !== "/",
      );
    return isOurs ? [{ pid, why: `a mount in its namespace (${command})` }] : [];
  });
}

function nameOf({ pid, startTime }: Process): string {
  return `${pid} ${startTime}`;
}

/** `major:minor` as `mountinfo` writes it, of a file system that is the run's own. */
function deviceOf(disk: string): string | undefined {
  const { dev } = statSync(disk);
  if (dev === statSync(join(disk, "..")).dev) return undefined;
  return `${(dev >> 8) & 0xfff}:${(dev & 0xff) | ((dev >> 12) & 0xfff00)}`;
}

function linkOf(process: string, namespace: string): number | undefined {
  try {
    return statSync(`/proc/${process}/ns/${namespace}`).ino;
  } catch {
    return undefined;
  }
}

/** What is mounted below the folder, or from its disk to elsewhere. */
function listMounts(folder: string): string[] {
  const device = deviceOf(join(folder, "disk"));
  return read("/proc/self/mountinfo")
    .split("\n")
    .flatMap((line) => {
      const [, , from, , to = ""] = line.split(" ");
      return to.startsWith(folder) || (device !== undefined && from === device) ? [to] : [];
    });
}

function listCgroups(folder: string, depth: number): string[] {
  if (depth === 0) return [];
  return list(folder).flatMap((name) => {
    const path = join(folder, name);
    if (name.startsWith("treadle-")) return [path];
    return name.includes(".") ? [] : listCgroups(path, depth - 1);
  });
}
