import type { Destination } from "../../domain/destinations.ts";
import { messageOf } from "../../domain/message-of.ts";
import { repeat } from "../../system/repeating.ts";
import type { AddressBook } from "./address-book.ts";
import { createHostRangesReader, createOwnRangesReader, type ResolveName } from "./addresses.ts";
import type { Launcher } from "./commands.ts";
import { createMeters, type Meters } from "./meters.ts";
import type { NetworkPrograms } from "./programs.ts";
import { openRouter, type Router } from "./router.ts";
import { type OwnRanges, type RulesetFacts, toOwnUpdate } from "./ruleset.ts";
import { createScopes, type ListGrants, type Scopes } from "./scopes.ts";
import { testRouter, testScope } from "./self-test.ts";
import { createSlotPool, type SlotPool } from "./slot-pool.ts";
import { prepareTunDevice, type TunDevice } from "./tun-device.ts";

/** Far from what a program may take, on a machine with a thousand slots, too. */
const SLOTS_AT_ONCE = 16;

/** A router with its uplink and its slots. When it fails there will be another one, with nothing in common. */
export interface Generation {
  readonly router: Router;
  readonly slots: SlotPool;
  readonly scopes: Scopes;
  readonly meters: Meters;
  /** Resolves with the reason when anything of it ends or can no longer be trusted. Never rejects. */
  readonly failed: Promise<string>;
  /** Callers that wait for a slot get the reason. */
  close(reason: string): Promise<void>;
}

export interface GenerationSettings {
  readonly programs: NetworkPrograms;
  readonly runAs: Launcher["runAs"];
  readonly slots: number;
  /** Prepared before; otherwise one is prepared for this generation alone. */
  readonly tun: TunDevice | undefined;
  /** See `NetworkSettings`. */
  readonly within: (() => Promise<readonly string[]>) | undefined;
  readonly protectedHosts: readonly string[];
  /** See `NetworkSettings`. */
  readonly ungrantableHosts: readonly string[];
  readonly resolveName: ResolveName | undefined;
  readonly refreshMs: number;
  readonly facts: Omit<RulesetFacts, keyof OwnRanges>;
  /** Where the files of scopes are. */
  readonly dir: string;
  readonly addresses: AddressBook;
  readonly listGrants: ListGrants;
  readonly onCut: (destination: Destination) => void;
}

/** Opens a router, fills it with slots, tests it, and only then attaches the uplink. Rejects, leaving nothing, when any of that fails. */
export async function openGeneration(settings: GenerationSettings): Promise<Generation> {
  const { programs, runAs, protectedHosts, ungrantableHosts, resolveName } = settings;
  const here: Launcher = { runAs, prefix: [] };
  const readNobodys = createOwnRangesReader({ protectedHosts, resolveName });
  const readKept = createHostRangesReader({ hosts: ungrantableHosts, resolveName });
  const readOwn = async (): Promise<OwnRanges> => ({ own: await readNobodys(), kept: await readKept() });
  const { own: ownNow, kept } = await readOwn();
  const facts = { ...settings.facts, own: ownNow, kept };
  const within = (await settings.within?.()) ?? [];
  const own = settings.tun === undefined ? await prepareTunDevice(programs, runAs, within) : undefined;
  let router: Router | undefined;
  let meters: Meters | undefined;
  const closeAll = async () => {
    await meters?.close();
    await router?.close();
    await own?.close();
  };
  try {
    const toDevice = (settings.tun ?? own)?.enter ?? [];
    // A device of our own is in a namespace that was made within already.
    const prefix = toDevice.length > 0 ? toDevice : within;
    router = await openRouter(programs, { runAs, prefix }, facts, settings.within);
    meters = createMeters(router);
    await meters.prepare(settings.slots);
    const slots = await fillAndTest(router, settings.slots, facts, { python: programs.python3, launcher: here });
    await router.attachUplink();
    return watch({ router, meters, slots, own: { own: ownNow, kept }, readOwn, settings, closeAll });
  } catch (error) {
    await closeAll();
    throw error;
  }
}

/** Makes the slots, and one more to try the rules from. Returns the numbers of the slots. */
async function fillAndTest(
  router: Router,
  count: number,
  facts: RulesetFacts,
  tools: { readonly python: string; readonly launcher: Launcher },
): Promise<number[]> {
  const [trial, ...slots] = Array.from({ length: count + 1 }, (_, number) => number) as [number, number];
  for (let from = 0; from <= count; from += SLOTS_AT_ONCE)
    await router.makeSlots([trial, ...slots].slice(from, from + SLOTS_AT_ONCE));
  const problems = await router.withDeadEnd(async () => [
    ...(await testRouter(router, { slot: trial, sibling: slots[0] }, facts, tools)),
    ...(await testScope(router, { slot: trial, sibling: slots[0] }, facts, tools)),
  ]);
  if (problems.length > 0) throw new Error(`The router's rules do not hold: ${problems.join("; ")}.`);
  await router.removeSlot(trial);
  return slots;
}

function watch(parts: {
  readonly router: Router;
  readonly meters: Meters;
  readonly slots: readonly number[];
  /** What the rules protect already. */
  readonly own: OwnRanges;
  readonly readOwn: () => Promise<OwnRanges>;
  readonly settings: Pick<GenerationSettings, "refreshMs" | "dir" | "addresses" | "listGrants" | "onCut">;
  readonly closeAll: () => Promise<void>;
}): Generation {
  const { router, meters, readOwn, settings, closeAll } = parts;
  const { refreshMs, dir, addresses, listGrants, onCut } = settings;
  let fail: (reason: string) => void = () => undefined;
  const failed = new Promise<string>((resolve) => {
    fail = resolve;
  });
  void router.ended.then(fail);
  const slots = createSlotPool(router, meters, parts.slots, fail);
  const scopes = createScopes({ router, dir, addresses, listGrants, onCut, onFailure: fail });
  let known = JSON.stringify(parts.own);
  const readingOwn = repeat(
    async () => {
      const own = await readOwn();
      const found = JSON.stringify(own);
      if (found !== known) await router.changeRules(toOwnUpdate(own)); // Most of the time nothing has changed, and telling the rules costs most.
      known = found;
    },
    {
      everyMs: refreshMs,
      first: "later",
      onError: (error) => fail(`this host's own addresses could not be read again: ${messageOf(error)}`),
    },
  );
  // Apart from that: a name server may take its time. Grants that cannot be asked for now are asked for the next time.
  const readingNames = repeat(() => scopes.refresh(), { everyMs: refreshMs, first: "later", onError: () => undefined });
  return {
    router,
    slots,
    scopes,
    meters,
    failed,
    async close(reason) {
      void readingOwn.close();
      void readingNames.close();
      const idle = slots.close(reason);
      await closeAll();
      await idle;
    },
  };
}
