import { parseRange, toAddress } from "../../domain/address-ranges.ts";

/** The uplink's own small network; seen by nobody outside the router, so it cannot collide with the host's. */
export const UPLINK = {
  device: "tap0",
  network: "10.0.2.0/24",
  address: "10.0.2.100",
  /** Stands for the host; refused like every private address. */
  gateway: "10.0.2.2",
  /** slirp4netns hands what arrives here on port 53 to the host's resolver. */
  nameserver: "10.0.2.3",
} as const;

/** Links between router and slots; a name of 15 characters is the kernel's limit. */
export const SLOT_DEVICES = "slot*";
/** One byte less than slirp4netns accepts at most: large segments are what makes it fast. */
export const MTU_BYTES = 65_520;

/** Of links whose programs reach their destinations and nothing else; others are of the kernel's group 0. */
export const CONFINED_GROUP = 2;

/**
 * Two addresses for each slot ever made. They come round after four million slots, when no connection is remembered. The
 * range is reserved, so that no private network that is granted to a program has them.
 */
const SLOT_ADDRESSES = parseRange("240.0.0.0/9");
/** Half of the 2^23 addresses of `SLOT_ADDRESSES`, because each slot has two. */
const SLOTS_BEFORE_REUSE = 2 ** 22;

export interface SlotPlan {
  /** Name of the network namespace; never used twice, so that a late command finds nothing rather than a stranger's. */
  readonly namespace: string;
  /** The router's end of the link; the slot's is `eth0`. */
  readonly device: string;
  readonly routerAddress: string;
  readonly slotAddress: string;
}

/** What the slot of this number, counted from 0 for each router, is called and addressed. */
export function planSlot(number: number): SlotPlan {
  const first = SLOT_ADDRESSES.first + 2 * (number % SLOTS_BEFORE_REUSE);
  return {
    namespace: `treadle${number}`,
    device: `slot${number}`,
    routerAddress: toAddress(first),
    slotAddress: toAddress(first + 1),
  };
}

/** For `ip -batch` in the router: the slot's namespace and link. IPv6 gets no address, so there is none to send from. */
export function toSlotCommands({ namespace, device, routerAddress }: SlotPlan): string[] {
  return [
    `netns add ${namespace}`,
    `link add name ${device} mtu ${MTU_BYTES} type veth peer name eth0 mtu ${MTU_BYTES} netns ${namespace}`,
    ...toRouterEnd(device, routerAddress),
  ];
}

/** For `ip -batch` in the router: a link to the network namespace that a process has of its own. */
export function toLinkCommands(plan: SlotPlan, pid: number, isConfined: boolean): string[] {
  const { device, routerAddress } = plan;
  return [
    `link add name ${device} mtu ${MTU_BYTES} type veth peer name eth0 mtu ${MTU_BYTES} netns ${pid}`,
    ...(isConfined ? toConfinement(plan) : []),
    ...toRouterEnd(device, routerAddress),
  ];
}

/** For `ip -batch` in the router: nothing passes a link of that group but what a scope lets through. */
export function toConfinement({ device }: SlotPlan): string[] {
  return [`link set ${device} group ${CONFINED_GROUP}`];
}

function toRouterEnd(device: string, address: string): string[] {
  return [`link set ${device} addrgenmode none`, `addr add ${address}/31 dev ${device}`, `link set ${device} up`];
}

/** For `ip -batch` in the slot. */
export function toInnerCommands({ routerAddress, slotAddress }: SlotPlan): string[] {
  return [
    "link set lo up",
    "link set eth0 addrgenmode none",
    `addr add ${slotAddress}/31 dev eth0`,
    "link set eth0 up",
    `route add default via ${routerAddress}`,
  ];
}

/** The link goes first: everything that still lives in the namespace is cut off at once. */
export function toRemovalCommands({ namespace, device }: SlotPlan): string[] {
  return [`link del ${device}`, `netns del ${namespace}`];
}

/** A dead end in place of the uplink, for the self-test: what gets here has passed the rules, and goes nowhere. */
export const DEAD_END = {
  make: [
    "netns add deadend",
    `link add name ${UPLINK.device} type veth peer name end netns deadend`,
    `addr add ${UPLINK.address}/24 dev ${UPLINK.device}`,
    `link set ${UPLINK.device} up`,
    `neigh add ${UPLINK.gateway} lladdr 02:00:00:00:00:01 dev ${UPLINK.device} nud permanent`,
    `neigh add ${UPLINK.nameserver} lladdr 02:00:00:00:00:02 dev ${UPLINK.device} nud permanent`,
    `route add default via ${UPLINK.gateway}`,
  ],
  raise: ["link set end up"],
  namespace: "deadend",
  remove: [`link del ${UPLINK.device}`, "netns del deadend"],
};
