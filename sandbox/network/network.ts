import { chmod, rename, writeFile } from "node:fs/promises";
import { isIPv4 } from "node:net";
import { join } from "node:path";
import { DENIED_RANGES, isWithin, mergeRanges, parseRange } from "../../domain/address-ranges.ts";
import type { Connections } from "../../domain/connections.ts";
import type { Destination } from "../../domain/destinations.ts";
import { createAddressBook } from "./address-book.ts";
import type { ResolveName } from "./addresses.ts";
import { toConnections } from "./connections.ts";
import { type Cuts, createCuts } from "./cuts.ts";
import { type Generation, openGeneration } from "./generation.ts";
import { type Generations, keepGeneration } from "./generations.ts";
import { UPLINK } from "./plan.ts";
import { type FoundPrograms, requirePrograms } from "./programs.ts";
import { CONNECTION_LIMITS, type ConnectionLimits, type OwnRanges, type RulesetFacts } from "./ruleset.ts";
import { clearScopeFolder, type ListGrants, type Scope } from "./scopes.ts";
import type { TunDevice } from "./tun-device.ts";

const SLOTS_MIN = 2; // The self-test tries to go from one to another.
const SLOTS_MAX = 1_024;
/** An address that this host gets while it runs is open to programs until the next look. */
const REFRESH_SECONDS = 10;

export interface NetworkSettings {
  readonly programs: FoundPrograms;
  /** The unprivileged user of router and sandboxes; required when we are root, impossible otherwise. */
  readonly runAs: { readonly uid: number; readonly gid: number } | undefined;
  /** Existing folder that this user can pass; `resolv.conf` is written there. */
  readonly dir: string;
  /** Executions with a network at the same time. */
  readonly slots: number;
  /** From `prepareTunDevice`, for a service that was root and is no more. */
  readonly tun?: TunDevice | undefined;
  /** Returns what enters the user namespace of the sandboxes' users, where they have some: only what was made in it may take them in. */
  readonly within?: (() => Promise<readonly string[]>) | undefined;
  /** `DENIED_RANGES` unless given. Tests in which documentation addresses play the internet leave those out. */
  readonly deniedRanges?: readonly string[];
  /** Names, addresses and ranges of our own servers, and public addresses that lead to this host from outside. */
  readonly protectedHosts?: readonly string[];
  /** Servers of ours that may be public, and so are not protected. They cannot be granted as destinations. */
  readonly ungrantableHosts?: readonly string[];
  /** Public resolvers to use instead of the host's: then internal names cannot be looked up. */
  readonly nameservers?: readonly string[];
  readonly limits?: ConnectionLimits;
  /** How often own addresses are looked at again. */
  readonly refreshSeconds?: number;
  readonly resolveName?: ResolveName;
  readonly report: (line: string) => void;
}

/** What one execution connected to. */
export interface Metered {
  /** What has been counted by now, by the kernel. Undefined where that is not to be had. Never rejects. */
  readonly readConnections: () => Promise<Connections | undefined>;
}

/** A way to the internet for one execution. */
export interface NetworkSlot extends Metered {
  /** Put before bubblewrap: enters the slot's user and network namespace. To be started by the unprivileged user. */
  readonly enter: readonly string[];
  /** The network namespace alone: what those enter who come from a user namespace above the router's. */
  readonly namespace: string;
  /** A file to show as `/etc/resolv.conf`. Undefined where programs look up nothing but what `hosts` says. */
  readonly resolvConf: string | undefined;
  /** A file to show as `/etc/hosts`, where that is not the one of every sandbox. */
  readonly hosts: string | undefined;
  /** False once the network that it belongs to has ended. The caller that keeps a slot ready must then take another. */
  readonly isUsable: boolean;
  /** Cuts the slot off. Everything in it must have been ended before. Calling it again does nothing. */
  release(): void;
}

/** A way to the internet for one fork of a lane. It ends with the processes that have it. */
export interface NetworkLink extends Metered {
  /** False once the network that it belongs to has ended. */
  readonly isUsable: boolean;
  /** To be called when its processes have ended. */
  release(): void;
}

/** Where bubblewrap is started whose processes get links later. They begin with no network at all. */
export type NetworkPlace = Pick<NetworkSlot, "enter" | "resolvConf" | "hosts">;

/** How executions get to a network. */
export interface NetworkWay {
  /** A slot nobody has used before; waits while all are taken. Rejects, with `problem`, while there is no network; and when `signal` aborts. */
  take(signal?: AbortSignal): Promise<NetworkSlot>;
  /** Rejects, with `problem`, while there is no network. */
  place(): Promise<NetworkPlace>;
  /**
   * Gives a process a link that nobody has used before. Its network namespace must be its own, and empty. Rejects, with
   * `problem`, while there is no network.
   */
  attach(pid: number): Promise<NetworkLink>;
}

/** The way to some destinations and to nothing else. Of its links, one is in use at a time. */
export interface ConfinedWay extends NetworkWay {
  /** Lets nothing through any more. */
  close(): Promise<void>;
}

export interface Network extends NetworkWay, Pick<Cuts, "follow"> {
  /** Resolves when the first attempt to open it is over, however that went. Who asks for a way before that waits for it. */
  readonly opened: Promise<void>;
  /**
   * Opens a way to these destinations alone. Names are looked up here, and programs find the answers in `/etc/hosts`. Rejects
   * while there is no network, and where a grant is gone.
   */
  confine(destinations: readonly Destination[]): Promise<ConfinedWay>;
  /** Sets how grants are asked for. Until then no way to a granted destination is opened. */
  useGrants(listGrants: ListGrants): void;
  /** Asks for the grants of every open way again. Never rejects. */
  refreshGrants(): Promise<void>;
  /** Why there is no network now, and what to do; undefined when there is one, or it is being opened for the first time. */
  readonly problem: string | undefined;
  /** Ends the router and its uplink. Executions still in a slot are left without a link. */
  close(): Promise<void>;
}

/**
 * Makes networks for executions: the public IPv4 internet by TCP and UDP, or some destinations by TCP, and nothing else. Never rejects for what this
 * machine lacks: `problem` says it. When the router or its uplink ends, both are made anew, after 1 s and then ever
 * more rarely. Until the new one has passed its self-test there is no network at all. Nothing of it outlives this
 * process.
 */
export async function createNetwork(settings: NetworkSettings): Promise<Network> {
  const facts = readFacts(settings);
  const programs = requirePrograms(settings.programs);
  if ("problem" in programs) return withoutNetwork(programs.problem);
  if (process.getuid?.() === 0 && settings.runAs === undefined)
    return withoutNetwork("The router of executions does not run as root: give it an unprivileged user.");
  const { dir, nameservers } = settings;
  const resolvConf = join(dir, "resolv.conf");
  await writeResolvConf(resolvConf, nameservers ?? [UPLINK.nameserver]);
  clearScopeFolder(dir);

  const { runAs, slots, tun, within, protectedHosts = [], ungrantableHosts = [], resolveName } = settings;
  const refreshMs = 1_000 * (settings.refreshSeconds ?? REFRESH_SECONDS);
  const addresses = createAddressBook({ nameservers, closed: settings.deniedRanges, resolveName });
  const cuts = createCuts();
  let grants: ListGrants = async () => [];
  const generations = keepGeneration(
    () =>
      openGeneration({
        programs,
        runAs,
        slots,
        tun,
        within,
        protectedHosts,
        ungrantableHosts,
        resolveName,
        refreshMs,
        facts,
        dir,
        addresses,
        listGrants: (ids) => grants(ids),
        onCut: cuts.report,
      }),
    settings.report,
  );
  return {
    opened: generations.opened,
    take: async (signal) =>
      takeSlot(generations, await generations.current(), { resolvConf, hosts: undefined }, signal),
    place: async () => ({ enter: (await generations.current()).router.enterUsers, resolvConf, hosts: undefined }),
    async attach(pid) {
      const generation = await generations.current();
      const slot = await generation.slots.attach(pid);
      return toLink(generation, slot, { isUsable: () => generations.isCurrent(generation) });
    },
    async confine(destinations) {
      const generation = await generations.current();
      return toConfinedWay(generations, generation, await generation.scopes.open(destinations));
    },
    follow: cuts.follow,
    useGrants: (listGrants) => void (grants = listGrants),
    refreshGrants: async () => {
      await generations
        .current()
        .then(({ scopes }) => scopes.refreshGrants())
        .catch(() => undefined); // Asked for again before long.
    },
    get problem() {
      return generations.problem();
    },
    close: () => generations.close(),
  };
}

async function takeSlot(
  generations: Generations,
  generation: Generation,
  files: Pick<NetworkSlot, "resolvConf" | "hosts">,
  signal: AbortSignal | undefined,
  scope?: Scope,
): Promise<NetworkSlot> {
  const { router, slots } = generation;
  const slot = await slots.take(signal);
  try {
    // The slot was made for any execution. It is closed first, and opened to the destinations then.
    if (scope !== undefined) await router.confineSlot(slot);
    await scope?.enter(slot);
  } catch (error) {
    slots.release(slot);
    throw error;
  }
  return {
    ...files,
    ...toMetered(generation, slot, scope),
    enter: router.enter(slot),
    namespace: router.namespaceOf(slot),
    get isUsable() {
      return generations.isCurrent(generation);
    },
    release: () => slots.release(slot),
  };
}

function toConfinedWay(generations: Generations, generation: Generation, scope: Scope): ConfinedWay {
  const { router, slots } = generation;
  const files = { resolvConf: undefined, hosts: scope.hosts };
  let linked: number | undefined;
  return {
    take: (signal) => takeSlot(generations, generation, files, signal, scope),
    place: async () => ({ ...files, enter: router.enterUsers }),
    async attach(pid) {
      if (linked !== undefined) await scope.leave(linked);
      const slot = (linked = await slots.attach(pid, scope));
      const isUsable = () => scope.isWhole && generations.isCurrent(generation);
      return toLink(generation, slot, { isUsable, scope });
    },
    close: () => scope.close(),
  };
}

function toLink(
  generation: Generation,
  slot: number,
  { isUsable, scope }: { readonly isUsable: () => boolean; readonly scope?: Scope },
): NetworkLink {
  return {
    ...toMetered(generation, slot, scope),
    get isUsable() {
      return isUsable();
    },
    release: () => generation.meters.forget(slot),
  };
}

function toMetered({ meters }: Generation, slot: number, scope: Scope | undefined): Metered {
  return {
    async readConnections() {
      const reading = await meters.read(slot);
      return reading && toConnections(reading, scope?.locate());
    },
  };
}

function readFacts(settings: NetworkSettings): Omit<RulesetFacts, keyof OwnRanges> {
  if (!(settings.slots >= SLOTS_MIN && settings.slots <= SLOTS_MAX))
    throw new RangeError(`A network has ${SLOTS_MIN} to ${SLOTS_MAX} slots, not ${settings.slots}.`);
  const denied = mergeRanges((settings.deniedRanges ?? DENIED_RANGES).map(parseRange));
  const lost = settings.nameservers?.find((address) => !isIPv4(address) || isWithin(denied, parseRange(address).first));
  if (lost !== undefined)
    throw new RangeError(`The resolver ${lost} is no public IPv4 address: no execution could ask it.`);
  return { denied, limits: settings.limits ?? CONNECTION_LIMITS, forwardsNames: settings.nameservers === undefined };
}

function withoutNetwork(problem: string): Network {
  const refuse = async (): Promise<never> => {
    throw new Error(problem);
  };
  return {
    opened: Promise.resolve(),
    take: refuse,
    place: refuse,
    attach: refuse,
    confine: refuse,
    follow: () => () => undefined,
    useGrants: () => undefined,
    refreshGrants: async () => undefined,
    problem,
    close: async () => undefined,
  };
}

/** Replaced as a whole: an execution that starts meanwhile sees the old one or the new one. */
async function writeResolvConf(path: string, nameservers: readonly string[]): Promise<void> {
  await writeFile(`${path}.new`, nameservers.map((address) => `nameserver ${address}\n`).join(""));
  await chmod(`${path}.new`, 0o644); // with any umask
  await rename(`${path}.new`, path);
}
