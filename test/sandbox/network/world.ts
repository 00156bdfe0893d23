import { spawn } from "node:child_process";
import { chmodSync, existsSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Holder, type Launcher, runCommand, startHolder } from "../../../sandbox/network/commands.ts";
import { NETWORK_TOOLS, type NetworkCommand, type NetworkPrograms } from "../../../sandbox/network/programs.ts";
import { listTree } from "../../../sandbox/process-tree.ts";
import { SERVER } from "./server.ts";

export const IS_ROOT = process.getuid?.() === 0;
/** Nobody's user id: whom router and executions run as when the tests run as root. */
export const USER = IS_ROOT ? { uid: 64322, gid: 64322 } : undefined;
const SBIN = ["/usr/sbin", "/usr/bin", "/sbin", "/bin"];

/** Addresses outside of the host, all on one machine, which answers "outside" on every one of them. */
export const OUTSIDE = {
  internet: "198.51.100.10",
  otherInternet: "198.51.100.11",
  /** Of no range that is set aside for anything. */
  public: "93.184.215.14",
  private10: "10.99.0.1",
  private172: "172.20.0.5",
  private192: "192.168.50.1",
  carrier: "100.64.0.9",
  metadata: "169.254.169.254",
  azure: "168.63.129.16",
  benchmark: "198.18.0.7",
  resolver: "10.99.0.53",
} as const;
/** The host's own. */
export const HOST = { public: "203.0.113.77", private: "172.20.1.2" } as const;
/** Where systemd-resolved listens. */
export const LOCAL_RESOLVER = "127.0.0.53";
const NAMES = {
  "example.test": OUTSIDE.internet,
  "api.example.com": OUTSIDE.public,
  "hooks.company.test": OUTSIDE.private192,
  "rebind.test": OUTSIDE.private10,
  "meta.test": OUTSIDE.metadata,
  "loop.test": "127.0.0.1",
  /** Leads to the internet first. */
  "flip.test": [OUTSIDE.internet, OUTSIDE.private10],
};

/** A host and an internet, in network namespaces without any link to the real ones: no packet can leave. */
export interface World {
  /** A folder that everybody may write to. */
  readonly dir: string;
  /** Put before a command: runs it on the simulated host. */
  readonly enter: readonly string[];
  /** Put before a command: runs it outside, where all addresses of `OUTSIDE` are. */
  readonly enterOutside: readonly string[];
  /** Root's permission bits of the host's `/dev/net/tun`; only where the tests run as root. */
  setTunMode(mode: "0600" | "0666"): Promise<void>;
  /** Its bits and its owner. */
  readTunMode(): Promise<string>;
  /** Whom the host asks for names; outside unless set. */
  setResolver(address: string): void;
  /** Gives the host one more address, or takes one away. */
  changeAddress(change: "add" | "del", address: string): Promise<void>;
  close(): Promise<void>;
}

/** The programs of this machine. Throws, naming it, when one is missing. */
export function findPrograms(): NetworkPrograms {
  const paths = (Object.keys(NETWORK_TOOLS) as NetworkCommand[]).map((command) => {
    const path = SBIN.map((folder) => join(folder, command)).find((candidate) => existsSync(candidate));
    if (path === undefined) throw new Error(`These tests need ${command}: ${NETWORK_TOOLS[command].purpose}.`);
    return [command, path] as const;
  });
  return Object.fromEntries(paths) as NetworkPrograms;
}

export async function makeWorld(programs: NetworkPrograms): Promise<World> {
  const { nsenter, unshare, cat, ip, mount, mknod, python3 } = programs;
  const us: Launcher = { runAs: undefined, prefix: [] };
  const user = IS_ROOT ? [] : ["--user", "--map-root-user"];
  const dir = mkdtempSync(join(realpathSync(tmpdir()), "treadle-network-"));
  chmodSync(dir, 0o777);
  const holders: Holder[] = [];
  const hold = async (at: Launcher, argv: readonly string[]) => {
    const holder = await startHolder(at, argv);
    holders.push(holder);
    return holder.pid;
  };
  const host = await hold(us, [unshare, ...user, "--net", "--mount", "--propagation", "private", cat]);
  const userOf = IS_ROOT ? [] : ["--preserve-credentials", `--user=/proc/${host}/ns/user`];
  const onHost: Launcher = {
    ...us,
    prefix: [nsenter, ...userOf, `--net=/proc/${host}/ns/net`, `--mount=/proc/${host}/ns/mnt`, "--"],
  };
  const outside = await hold(onHost, [unshare, "--net", cat]);
  const atOutside: Launcher = { ...us, prefix: [nsenter, ...userOf, `--net=/proc/${outside}/ns/net`, "--"] };
  const batch = (at: Launcher, lines: readonly string[]) =>
    runCommand(at, [ip, "-batch", "-"], `${lines.join("\n")}\n`);

  await batch(onHost, [
    "link set lo up",
    `link add name wan type veth peer name lan netns ${outside}`,
    `addr add ${HOST.public}/24 dev wan`,
    `addr add ${HOST.private}/24 dev wan`,
    "link set wan up",
    "route add default via 203.0.113.1",
  ]);
  await batch(atOutside, [
    "link set lo up",
    "addr add 203.0.113.1/24 dev lan",
    "addr add 172.20.1.1/24 dev lan",
    "link set lan up",
    ...Object.values(OUTSIDE).map((address) => `addr add ${address}/32 dev lo`),
  ]);
  const serve = (at: Launcher, ...what: unknown[]) =>
    hold(at, [python3, "-I", "-S", "-c", SERVER, JSON.stringify(what)]);
  await serve(atOutside, "outside", [8080, 25], [8080], Object.values(OUTSIDE), NAMES);
  await serve(onHost, "host", [8080, 5432], [8080], ["127.0.0.1", ...Object.values(HOST)], {});
  await serve(onHost, "host", [], [], [LOCAL_RESOLVER], NAMES);

  const resolvConf = join(dir, "host-resolv.conf");
  const setResolver = (address: string) => writeFileSync(resolvConf, `nameserver ${address}\n`, { mode: 0o644 });
  setResolver(OUTSIDE.resolver);
  await runCommand(onHost, [mount, "--bind", resolvConf, realpathSync("/etc/resolv.conf")]);
  if (IS_ROOT) {
    await runCommand(onHost, [mount, "-t", "tmpfs", "-o", "mode=0755", "tmpfs", "/dev/net"]);
    await runCommand(onHost, [mknod, "-m", "0600", "/dev/net/tun", "c", "10", "200"]);
  }
  return {
    dir,
    enter: onHost.prefix,
    enterOutside: atOutside.prefix,
    setTunMode: async (mode) => {
      await runCommand(onHost, ["/bin/chmod", mode, "/dev/net/tun"]);
    },
    setResolver,
    readTunMode: async () => (await runCommand(onHost, ["/usr/bin/stat", "-c", "%a %U", "/dev/net/tun"])).trim(),
    changeAddress: async (change, address) => {
      await batch(onHost, [`addr ${change} ${address}/32 dev lo`]);
    },
    async close() {
      for (const holder of holders.reverse()) await holder.close();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

/** All processes below this one, as they are now. */
export function listDescendants(pid: number): number[] {
  return listTree(pid).slice(1);
}

/** Starts a command on the simulated host; its input and output are ours. */
export function spawnInWorld(world: World, argv: readonly string[]) {
  const [program = "", ...args] = [...world.enter, ...argv];
  return spawn(program, args, { stdio: ["pipe", "pipe", "pipe"], cwd: "/" });
}
