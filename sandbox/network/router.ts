import { realpath } from "node:fs/promises";
import {
  type Holder,
  type Launcher,
  runCommand,
  startHolder,
  startTalker,
  startWithExitPipe,
  type Talker,
} from "./commands.ts";
import {
  DEAD_END,
  MTU_BYTES,
  planSlot,
  toConfinement,
  toInnerCommands,
  toLinkCommands,
  toRemovalCommands,
  toSlotCommands,
  UPLINK,
} from "./plan.ts";
import type { NetworkPrograms } from "./programs.ts";
import { type CounterName, LIST_COUNTERS, parseCounters, type RulesetFacts, toRuleset } from "./ruleset.ts";

/** Switches of the router's network namespace, by what is written into them. */
const SWITCHES: Readonly<Record<string, readonly string[]>> = {
  "1": ["ipv4/ip_forward", "ipv6/conf/all/disable_ipv6", "ipv6/conf/default/disable_ipv6"],
  // A connection in the middle of which we would come is none of ours.
  "0": ["netfilter/nf_conntrack_tcp_loose", "ipv4/conf/all/send_redirects", "ipv4/conf/default/send_redirects"],
  // Seconds for which what has ended is remembered: a flood of short connections would fill the table otherwise.
  "10": ["netfilter/nf_conntrack_tcp_timeout_time_wait", "netfilter/nf_conntrack_udp_timeout"],
};

/** One router: a user, a network and a mount namespace of the unprivileged user, with rules in force from the beginning. */
export interface Router {
  /** Resolves with the reason when it has ended by itself, or its uplink has. Never rejects. */
  readonly ended: Promise<string>;
  /** Put before a command, by the unprivileged user: runs it in the slot of this number. */
  enter(slot: number): string[];
  /** The slot's network namespace, as the host reaches it. */
  namespaceOf(slot: number): string;
  /** Of several, each step is one program for all, or one for each at the same time. */
  makeSlots(slots: readonly number[]): Promise<void>;
  /** Cuts the slot off at once. What lives in it keeps a namespace without a link. */
  removeSlot(slot: number): Promise<void>;
  /** From here on nothing passes the slot's link but what a scope that it is put into lets through. */
  confineSlot(slot: number): Promise<void>;
  /** Put before bubblewrap, by the unprivileged user, where `attach` is to reach what it starts. */
  readonly enterUsers: readonly string[];
  /**
   * Gives a process a link, whose own network namespace has none yet. The number is one that no slot has had. The kernel
   * takes the link away with that namespace, when the last process in it is dead.
   */
  attach(slot: number, pid: number, isConfined: boolean): Promise<void>;
  /** Changes the rules: all that the text says at once, or nothing. */
  changeRules(text: string): Promise<void>;
  /** Starts an `nft` that answers each question about the rules with a line of JSON. */
  talkToRules(): Talker;
  readCounters(): Promise<Record<CounterName, number>>;
  /** Runs `act` while a dead end stands where the uplink will be. */
  withDeadEnd<T>(act: () => Promise<T>): Promise<T>;
  attachUplink(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Makes a router in which the rules are loaded before there is anything they could let through. `within` enters the user
 * namespace of the sandboxes' users, where they have some. Rejects, leaving nothing, when any step fails.
 */
export async function openRouter(
  programs: NetworkPrograms,
  launcher: Launcher,
  facts: RulesetFacts,
  within?: () => Promise<readonly string[]>,
): Promise<Router> {
  const { unshare, nsenter, mount, nft, tee, cat } = programs;
  const namespaces = ["--user", "--map-root-user", "--net", "--mount", "--propagation", "private"];
  const holder = await startHolder(launcher, [unshare, ...namespaces, cat]);
  try {
    const ns = `/proc/${holder.pid}/ns`;
    const here: Launcher = { runAs: launcher.runAs, prefix: [] };
    const enter = [
      nsenter,
      "--preserve-credentials",
      `--user=${ns}/user`,
      `--net=${ns}/net`,
      `--mount=${ns}/mnt`,
      "--",
    ];
    const inside: Launcher = { runAs: launcher.runAs, prefix: enter };
    await runCommand(inside, [nft, "-f", "-"], toRuleset(facts));
    const switches = Object.entries(SWITCHES).map(([value, names]) =>
      runCommand(inside, [tee, ...names.map((name) => `/proc/sys/net/${name}`)], value),
    );
    await Promise.all(switches);
    // Where iproute2 keeps its namespaces; a link to /run nearly everywhere.
    const run = await realpath("/var/run");
    await runCommand(inside, [mount, "-t", "tmpfs", "-o", "mode=0700,size=1m", "tmpfs", run]);
    const folder = `/proc/${holder.pid}/root${run}/netns`;
    return build({ programs, launcher, here, inside, holder, folder, facts, within });
  } catch (error) {
    await holder.close();
    throw error;
  }
}

interface Parts {
  readonly programs: NetworkPrograms;
  /** Starts programs where the uplink is. */
  readonly launcher: Launcher;
  readonly here: Launcher;
  readonly inside: Launcher;
  readonly holder: Holder;
  /** Of the slots' namespaces, as the host reaches it. */
  readonly folder: string;
  readonly facts: RulesetFacts;
  readonly within: (() => Promise<readonly string[]>) | undefined;
}

function build({ programs, launcher, here, inside, holder, folder, facts, within }: Parts): Router {
  const { ip, nft, nsenter } = programs;
  let uplink: Holder | undefined;
  let tellEnd: (reason: string) => void = () => undefined;
  const ended = new Promise<string>((resolve) => {
    tellEnd = resolve;
  });
  void holder.ended.then((how) => tellEnd(`the router's ${how}`));

  const enterNamespace = (name: string) => [
    nsenter,
    "--preserve-credentials",
    `--user=/proc/${holder.pid}/ns/user`,
    `--net=${folder}/${name}`,
    "--",
  ];
  const batch = (at: Launcher, lines: readonly string[]) =>
    runCommand(at, [ip, "-batch", "-"], lines.map((line) => `${line}\n`).join(""));
  const batchIn = (name: string, lines: readonly string[]) => batch({ ...here, prefix: enterNamespace(name) }, lines);

  const enterUsers = [nsenter, "--preserve-credentials", `--user=/proc/${holder.pid}/ns/user`, "--"];
  // Who has rights over the router has them over a sandbox only where both were made within one namespace of users.
  const batchOver = async (namespace: string, lines: readonly string[]) => {
    const rights = (await within?.()) ?? enterUsers;
    // Before the `--` that ends what nsenter is told.
    return batch({ ...here, prefix: rights.toSpliced(-1, 0, `--net=${namespace}`) }, lines);
  };

  return {
    ended,
    enterUsers,
    async confineSlot(slot) {
      await batch(inside, toConfinement(planSlot(slot)));
    },
    async attach(slot, pid, isConfined) {
      const plan = planSlot(slot);
      await batchOver(`/proc/${holder.pid}/ns/net`, toLinkCommands(plan, pid, isConfined));
      await batchOver(`/proc/${pid}/ns/net`, toInnerCommands(plan));
    },
    enter: (slot) => enterNamespace(planSlot(slot).namespace),
    namespaceOf: (slot) => `${folder}/${planSlot(slot).namespace}`,
    async makeSlots(slots) {
      const plans = slots.map(planSlot);
      await batch(inside, plans.flatMap(toSlotCommands));
      await Promise.all(plans.map((plan) => batchIn(plan.namespace, toInnerCommands(plan))));
    },
    async removeSlot(slot) {
      await batch(inside, toRemovalCommands(planSlot(slot)));
    },
    async changeRules(text) {
      await runCommand(inside, [nft, "-f", "-"], text);
    },
    talkToRules: () => startTalker(inside, [nft, "-j", "-i"]),
    readCounters: async () => parseCounters(await runCommand(inside, [nft, ...LIST_COUNTERS])),
    async withDeadEnd(act) {
      await batch(inside, DEAD_END.make);
      await batchIn(DEAD_END.namespace, DEAD_END.raise);
      const result = await act();
      await batch(inside, DEAD_END.remove);
      return result;
    },
    async attachUplink() {
      uplink = await startWithExitPipe(launcher, toUplinkCommand(programs, holder.pid, facts));
      void uplink.ended.then((how) => tellEnd(how));
    },
    async close() {
      await uplink?.close();
      await holder.close();
    },
  };
}

/** slirp4netns with everything off that can be: no way to the host's loopback, no IPv6 (its default), no privileges of its own. */
function toUplinkCommand({ slirp4netns }: NetworkPrograms, pid: number, { forwardsNames }: RulesetFacts): string[] {
  return [
    slirp4netns,
    ["--configure", `--mtu=${MTU_BYTES}`, `--cidr=${UPLINK.network}`],
    ["--disable-host-loopback", "--enable-sandbox", "--enable-seccomp"],
    forwardsNames ? [] : ["--disable-dns"],
    ["--exit-fd=3", "--ready-fd=4", String(pid), UPLINK.device],
  ].flat();
}
