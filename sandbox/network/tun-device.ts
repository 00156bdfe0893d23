import { stat } from "node:fs/promises";
import { type Launcher, runCommand, startHolder } from "./commands.ts";
import type { NetworkPrograms } from "./programs.ts";

const PATH = "/dev/net/tun";
const READ_WRITE = 0o6;

type User = NonNullable<Launcher["runAs"]>;

/** Namespaces of the unprivileged user in which `/dev/net/tun` can be opened. */
export interface TunDevice {
  /** Put before a command, by that user: runs it there. Empty where the host's own device will do. */
  readonly enter: readonly string[];
  close(): Promise<void>;
}

/**
 * The device that slirp4netns needs. Where the user may open the host's, nothing is done. Where only root may, and we
 * are root, the user gets a device of its own in a mount namespace that nothing else is in. The host's is left as it
 * is. To be called while still root by a service that then becomes that user. Otherwise rejects, saying what to do.
 * `within` is put before what makes these namespaces, and enters the user namespace that they are made in.
 */
export async function prepareTunDevice(
  programs: NetworkPrograms,
  runAs: User | undefined,
  within: readonly string[] = [],
): Promise<TunDevice> {
  const stats = await stat(PATH).catch(() => undefined);
  if (stats === undefined) {
    throw new Error(
      `There is no ${PATH}, which networks of executions need. Load it: modprobe tun (in a container: start it with --device ${PATH}).`,
    );
  }
  const isRoot = process.getuid?.() === 0;
  if (mayOpen(stats, runAs ?? { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 }))
    return { enter: [], close: async () => undefined };
  if (isRoot && runAs !== undefined) return makeOwnDevice(programs, runAs, within);
  throw new Error(
    `${PATH} may only be opened by root. Open it to everybody, as most systems have it: chmod 666 ${PATH} (to keep that: a udev rule KERNEL=="tun", MODE="0666"). Or start Treadle as root.`,
  );
}

function mayOpen(stats: { mode: number; uid: number; gid: number }, { uid, gid }: User): boolean {
  const shift = stats.uid === uid ? 6 : stats.gid === gid ? 3 : 0;
  return ((stats.mode >> shift) & READ_WRITE) === READ_WRITE;
}

/**
 * First a mount namespace of root's, because a device only works in a file system that root has mounted. Then a copy of
 * it that is the user's, which the user can enter again when we are no longer root.
 */
async function makeOwnDevice(programs: NetworkPrograms, runAs: User, above: readonly string[]): Promise<TunDevice> {
  const { unshare, nsenter, mount, mknod, cat } = programs;
  const root: Launcher = { runAs: undefined, prefix: [] };
  const first = await startHolder(root, [unshare, "--mount", "--propagation", "private", cat]);
  try {
    const within: Launcher = { runAs: undefined, prefix: [nsenter, `--mount=/proc/${first.pid}/ns/mnt`, "--"] };
    const folder = `mode=0700,uid=${runAs.uid},gid=${runAs.gid},size=64k,nr_inodes=8`;
    await runCommand(within, [mount, "-t", "tmpfs", "-o", folder, "tmpfs", "/dev/net"]);
    await runCommand(within, [mknod, "-m", "0666", PATH, "c", "10", "200"]);
    const become = ["--setgid", String(runAs.gid), "--setuid", String(runAs.uid)];
    const second = await startHolder(
      root,
      [
        [nsenter, `--mount=/proc/${first.pid}/ns/mnt`, ...become, "--"],
        above,
        [unshare, "--user", "--map-root-user", "--mount", "--propagation", "private", cat],
      ].flat(),
    );
    const ns = `/proc/${second.pid}/ns`;
    return {
      enter: [nsenter, "--preserve-credentials", `--user=${ns}/user`, `--mount=${ns}/mnt`, "--"],
      close: () => second.close(),
    };
  } finally {
    await first.close();
  }
}
