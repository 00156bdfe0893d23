interface NetworkTool {
  readonly purpose: string;
  /** What it is called by each package manager. */
  readonly packages: { readonly "apt-get": string; readonly dnf: string; readonly apk: string };
}

const UTIL_LINUX = { "apt-get": "util-linux", dnf: "util-linux", apk: "util-linux" };
const COREUTILS = { "apt-get": "coreutils", dnf: "coreutils", apk: "coreutils" };

/** The programs of the system that the router is made with, by command. */
export const NETWORK_TOOLS = {
  slirp4netns: {
    purpose: "slirp4netns carries the packets of executions to the internet",
    packages: { "apt-get": "slirp4netns", dnf: "slirp4netns", apk: "slirp4netns" },
  },
  nft: {
    purpose: "nftables keeps executions away from private addresses",
    packages: { "apt-get": "nftables", dnf: "nftables", apk: "nftables" },
  },
  ip: {
    purpose: "iproute2 makes the network of each execution",
    packages: { "apt-get": "iproute2", dnf: "iproute", apk: "iproute2" },
  },
  nsenter: { purpose: "nsenter starts programs in the network of an execution", packages: UTIL_LINUX },
  unshare: { purpose: "unshare makes the router's namespaces", packages: UTIL_LINUX },
  mount: { purpose: "mount gives the router a folder of its own", packages: UTIL_LINUX },
  mknod: { purpose: "mknod gives the router a network device of its own", packages: COREUTILS },
  cat: { purpose: "cat keeps the router's namespaces while the service lives", packages: COREUTILS },
  tee: { purpose: "tee switches the router's forwarding on", packages: COREUTILS },
  python3: {
    purpose: "Python tries the router's rules before it is used",
    packages: { "apt-get": "python3", dnf: "python3", apk: "python3" },
  },
} as const satisfies Readonly<Record<string, NetworkTool>>;

export type NetworkCommand = keyof typeof NETWORK_TOOLS;

/** Absolute paths; undefined for what was not found. The user that sandboxes run as must be able to execute them. */
export type FoundPrograms = Readonly<Record<NetworkCommand, string | undefined>>;
export type NetworkPrograms = Readonly<Record<NetworkCommand, string>>;

/** All paths, or what is missing, what it is for, and the command that installs it. */
export function requirePrograms(found: FoundPrograms): NetworkPrograms | { readonly problem: string } {
  const missing = (Object.keys(NETWORK_TOOLS) as NetworkCommand[]).filter((command) => found[command] === undefined);
  if (missing.length === 0) return found as NetworkPrograms;
  const sentences = missing.map((command) => `${command} is missing: ${NETWORK_TOOLS[command].purpose}.`);
  const list = (manager: "apt-get" | "dnf" | "apk") =>
    [...new Set(missing.map((command) => NETWORK_TOOLS[command].packages[manager]))].join(" ");
  return {
    problem: `${sentences.join(" ")} Install: apt-get install ${list("apt-get")} (Fedora: dnf install ${list("dnf")}; Alpine: apk add ${list("apk")}).`,
  };
}
