import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { userInfo } from "node:os";

/**
 * Above what distributions, systemd and its containers give out, below 2^31. By systemd's list of user ids
 * (systemd.io/UIDS-GIDS), nobody has them.
 */
const NOBODYS = { first: 0x7000_0000, end: 0x7ffe_0000 };
/** Where only few ids are mapped, as in a rootless container: above people, below what systemd gives out by itself. */
const WITHIN_CONTAINERS = { first: 0x8000, end: 0xc000 };
/** The ids that stand for users who do not exist: 16 bits of -2 and -1. */
const NOBODY = { first: 65_534, count: 2 };
/** As many as `useradd` gives a person. An id is used again after all others, so more of them lie between two uses. */
const COUNT_WANTED = 65_536;
/** Fewer would not do for the executions, lanes and builds of a large machine. */
const COUNT_MIN = 1_024;

/** Kernel users for sandboxes, none of which anybody else has. */
export interface SandboxIds {
  /** The first user id, and the first group id: those of the sandbox `n` are `firstId + n` and `firstGroupId + n`. */
  readonly firstId: number;
  readonly firstGroupId: number;
  readonly count: number;
  /** Who gave them: root, or `/etc/subuid` and `/etc/subgid`. */
  readonly source: "root" | "subordinate";
}

interface Range {
  readonly first: number;
  readonly count: number;
}

/** What the system says of its ids, as texts of its files. */
export interface IdFiles {
  readonly subuid: string;
  readonly subgid: string;
  readonly passwd: string;
  readonly group: string;
  /** `/proc/self/uid_map` and `/proc/self/gid_map`: the ids that exist here. */
  readonly uidMap: string;
  readonly gidMap: string;
}

/** Returns who we are. A user without an entry in the system's list, as in many containers, has its id for a name. */
export function findSelf(): { readonly name: string; readonly uid: number; readonly gid: number } {
  const [uid, gid] = [process.getuid?.() ?? 0, process.getgid?.() ?? 0];
  try {
    return { name: userInfo().username, uid, gid };
  } catch {
    return { name: String(uid), uid, gid };
  }
}

/** Reads the files that `chooseSandboxIds` decides by; one that is absent is empty. */
export async function readIdFiles(): Promise<IdFiles> {
  const read = (path: string) => readFile(path, "utf8").catch(() => "");
  const paths = ["/etc/subuid", "/etc/subgid", "/etc/passwd", "/etc/group", "/proc/self/uid_map", "/proc/self/gid_map"];
  const [subuid = "", subgid = "", passwd = "", group = "", uidMap = "", gidMap = ""] = await Promise.all(
    paths.map(read),
  );
  return { subuid, subgid, passwd, group, uidMap, gidMap };
}

/**
 * Returns the kernel users of the sandboxes of one service: the subordinate ids of its user where it has some. For root
 * it is otherwise a range that nobody has. The range depends on the data folder, so that two services of a machine
 * differ. Undefined where there is none to be had.
 */
export function chooseSandboxIds(
  files: IdFiles,
  owner: { readonly name: string; readonly uid: number; readonly isRoot: boolean; readonly dataDir: string },
): SandboxIds | undefined {
  const subordinate = findSubordinate(files, owner);
  if (subordinate !== undefined) return { ...subordinate, source: "subordinate" };
  if (!owner.isRoot) return undefined;
  const isFree = createIsFree(files);
  const range = listBlocks(owner.dataDir).find(isFree);
  return range && { firstId: range.first, firstGroupId: range.first, count: range.count, source: "root" };
}

function findSubordinate(files: IdFiles, { name, uid }: { readonly name: string; readonly uid: number }) {
  const largest = (text: string): Range | undefined =>
    readRanges(text)
      .filter(({ owner }) => owner === name || owner === String(uid))
      .sort((a, b) => b.count - a.count)[0];
  const [users, groups] = [largest(files.subuid), largest(files.subgid)];
  if (users === undefined || groups === undefined) return undefined;
  const count = Math.min(users.count, groups.count, COUNT_WANTED);
  return count < COUNT_MIN ? undefined : { firstId: users.first, firstGroupId: groups.first, count };
}

/** Lines of `/etc/subuid`: name or id, first, count. */
function readRanges(text: string): (Range & { readonly owner: string })[] {
  return text.split("\n").flatMap((line) => {
    const [owner = "", first, count] = line.trim().split(":");
    const range = { owner, first: Number(first), count: Number(count) };
    return owner !== "" && range.first > 0 && range.count > 0 ? [range] : [];
  });
}

/** Nobody's blocks, beginning with the data folder's own, and at last those of small containers. */
function listBlocks(dataDir: string): Range[] {
  const blocks = (NOBODYS.end - NOBODYS.first) / COUNT_WANTED;
  const start = createHash("sha256").update(dataDir).digest().readUInt32BE(0) % blocks;
  const large = Array.from({ length: blocks }, (_, index) => ({
    first: NOBODYS.first + ((start + index) % blocks) * COUNT_WANTED,
    count: COUNT_WANTED,
  }));
  const small = { first: WITHIN_CONTAINERS.first, count: WITHIN_CONTAINERS.end - WITHIN_CONTAINERS.first };
  return [...large, small];
}

/** Whether all ids of a block exist here as users and as groups, and are nobody's. */
function createIsFree(files: IdFiles): (block: Range) => boolean {
  const people = [files.passwd, files.group].flatMap((text) =>
    text.split("\n").map((line) => ({ first: Number(line.split(":")[2]), count: 1 })),
  );
  const given = [...readRanges(files.subuid), ...readRanges(files.subgid)];
  const taken = [NOBODY, ...given, ...people.filter((each) => each.first >= 0)];
  const maps = [files.uidMap, files.gidMap].map(readMap);
  return ({ first, count }) =>
    taken.every((other) => other.first >= first + count || other.first + other.count <= first) &&
    maps.every((map) => map.some((each) => each.first <= first && first + count <= each.first + each.count));
}

/** Lines of `/proc/self/uid_map`: the first id here, the first outside, count. */
function readMap(text: string): Range[] {
  return text.split("\n").map((line) => {
    const [first = Number.NaN, , count = 0] = line.trim().split(/\s+/).map(Number);
    return { first, count };
  });
}
