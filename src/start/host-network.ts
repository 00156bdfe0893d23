import { createGrantRules, type GrantRules } from "../../sandbox/network/grant-rules.ts";
import { createNetwork, type Network } from "../../sandbox/network/network.ts";
import { type Settings, slotCountOf } from "../config.ts";
import type { Log } from "../log.ts";
import type { ReceiverRules } from "../notices/addresses.ts";
import type { Machine } from "../setup/machine.ts";
import { TEMPORAL_HOST } from "../setup/servers/temporal-server.ts";

/** The network's self-test goes from one slot to another. */
const NETWORK_SLOTS_MIN = 2;

interface NetworkDeps {
  readonly settings: Settings;
  readonly machine: Machine;
  readonly log: Log;
}

interface NetworkHost {
  readonly network: Network | undefined;
  readonly isolationProblems: readonly string[];
}

/** Opens the way out for executions that ask for one. It never fails a start: what is missing is its `problem`. */
export async function openNetwork({ machine, settings, log }: NetworkDeps): Promise<Network | undefined> {
  if (machine.network === undefined) return undefined;
  const { programs, tun } = machine.network;
  const nameservers = splitList(settings.TREADLE_NETWORK_NAMESERVERS);
  const network = await createNetwork({
    programs: { ...programs, python3: machine.python.path }, // One that the unprivileged user can start.
    tun,
    within: machine.sandboxUsers.users?.enterAsOwner,
    runAs: machine.runAs,
    dir: machine.paths.runtime,
    slots: Math.max(NETWORK_SLOTS_MIN, settings.TREADLE_NETWORK_SLOTS ?? slotCountOf(settings) + 1),
    protectedHosts: protectedHostsOf(settings),
    ungrantableHosts: storageHostsOf(settings),
    ...(nameservers.length === 0 ? {} : { nameservers }),
    report: (line) => log.warn({ event: "network" }, line),
  });
  return network;
}

/** Returns why no execution can have a network here. A process that only answers callers leaves that to the workers. */
export function findNetworkProblem(settings: Settings, host: NetworkHost): string | undefined {
  if (settings.TREADLE_ROLE === "api") return undefined;
  if (host.network !== undefined) return host.network.problem;
  if (settings.TREADLE_ISOLATION === "none") return "Executions have no filtered network (TREADLE_ISOLATION=none).";
  if (settings.TREADLE_SANDBOX_RUNTIME !== "bubblewrap")
    return "Executions in gVisor have no network (TREADLE_SANDBOX_RUNTIME).";
  if (host.isolationProblems.length > 0) return "Executions have no sandbox here, and so no filtered network.";
  return "Executions have no filtered network (TREADLE_NETWORK_SLOTS=0).";
}

/** Our own servers, wherever they are: no execution may reach them. Those that we start are behind a socket, or here. */
function hostsOf({ TEMPORAL_ADDRESS: temporal = TEMPORAL_HOST, ...settings }: Settings): string[] {
  const databases = [settings.DATABASE_URL, settings.DATABASE_POOLER_URL]
    .map((url) => (url === undefined ? "" : new URL(url).hostname))
    .filter((host) => host !== "" && !host.startsWith("/"));
  return [...databases, temporal.replace(/:\d+$/, "")];
}

/** Returns whom notices may go to, and to whom never. */
export function receiverRulesOf(settings: Settings): ReceiverRules {
  return {
    allowedHosts: splitList(settings.TREADLE_NOTICE_HOSTS),
    protectedHosts: protectedHostsOf(settings),
    ungrantableHosts: storageHostsOf(settings),
  };
}

/** Returns which addresses no operator can grant to programs. */
export function grantRulesOf(settings: Settings): GrantRules {
  return createGrantRules({
    protectedHosts: protectedHostsOf(settings),
    ungrantableHosts: storageHostsOf(settings),
  });
}

function protectedHostsOf(settings: Settings): string[] {
  return [...hostsOf(settings), ...splitList(settings.TREADLE_NETWORK_DENY)];
}

/**
 * Storage of the service's own, where the operator names its server. Not protected: it may be a provider's, which programs use as well.
 * The host of an `s3:` URL is a bucket, and no host.
 */
function storageHostsOf({ TREADLE_STORAGE_URL: url = "" }: Settings): string[] {
  const endpoint = URL.canParse(url) ? new URL(url).searchParams.get("endpoint") : null;
  return endpoint === null ? [] : [new URL(endpoint).hostname.replace(/^\[(.*)\]$/, "$1")];
}

/** Returns the hosts that a call may have its result sent to. */
export function callHostsOf(settings: Settings): string[] {
  return splitList(settings.TREADLE_WEBHOOK_HOSTS).map((host) => host.toLowerCase());
}

function splitList(text: string | undefined): string[] {
  return (text ?? "")
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "");
}
