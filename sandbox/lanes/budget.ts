import { formatSize } from "../../domain/manifest/sizes.ts";
import type { LaneFigures, LaneSettings } from "../request.ts";
import { type Group, type Groups, isForgettable, pruneClosed } from "./group.ts";
import { UnfitError } from "./guard.ts";
import type { Lane } from "./lane.ts";
import { chooseToGo, type Holding } from "./shares.ts";

/** Lanes may be no more, or hold no more, and none of them can go. */
export class FullError extends Error {}

/** A lane that is being started, and what it holds by now. */
export interface Growth {
  /** Notes what it holds, closing others for that; answers why it must not go on. */
  note(bytes: number): Error | undefined;
  end(): void;
}

/** What the lanes of a host may be and hold together: those that wait, make a fork or are being started. */
export interface LaneBudget {
  /** Closes lanes until there is room for one more of this code. Throws FullError where none can go, UnfitError where it is too large for all. */
  makeFor(group: Group): Promise<Growth>;
  /** Closes waiting lanes while they hold more than they may: of the account that holds the most, the least recently used. */
  trim(): void;
  /** Measures the lanes that wait, and closes those that nobody has used for long. */
  look(): void;
  figures(): LaneFigures;
}

export function createLaneBudget(groups: Groups, bounds: LaneSettings): LaneBudget {
  const growing = new Set<Growing>();
  let evicted = 0;
  let isTrimming = false;

  const heldBytes = () => sumOf(listBytes(groups, growing));
  const evict = (lane: Lane) => {
    if (lane.state() !== "closed") evicted += 1;
    return lane.close();
  };
  const isTooLarge = (bytes: number) => bytes > bounds.idleBytesMax;
  /** `wanting`: whom room is made for. Accounts that hold less lose nothing. */
  const trim = (wanting?: Wanting) => {
    if (isTrimming) return; // Closing a lane is a change, after which others trim.
    isTrimming = true;
    // One that is too large by itself would otherwise be the last to go.
    for (const { lane } of listWaiting(groups)) if (isTooLarge(lane.bytes())) void evict(lane);
    while (isTooLarge(heldBytes())) {
      const first = chooseToGo(listBytes(groups, growing), listWaiting(groups), wanting);
      if (first === undefined) break;
      void evict(first.lane);
    }
    isTrimming = false;
  };
  const refuse = (bytes: number): Error | undefined => {
    const max = formatSize(bounds.idleBytesMax);
    if (isTooLarge(bytes))
      return new UnfitError(`Its packages keep more memory than the ${max} that all lanes may hold.`);
    return isTooLarge(heldBytes()) ? new FullError(`The lanes of this host hold the ${max} that they may.`) : undefined;
  };

  const makePlace = async (group: Group) => {
    while (sumOf(listNumbers(groups)) > bounds.lanesMax) {
      const others = listWaiting(groups).filter((waiting) => waiting.group !== group);
      const first = chooseToGo(listNumbers(groups), others, toWanting(group));
      if (first === undefined) throw new FullError(`All ${bounds.lanesMax} lanes of this host are in use.`);
      await evict(first.lane);
    }
  };

  return {
    async makeFor(group) {
      await makePlace(group);
      const own = { ...toWanting(group), bytes: group.usualBytes };
      // Where there is no room for both, so that no other code loses a lane for it.
      if (isTooLarge(heldBytes() + own.bytes)) group.replaced?.retire();
      growing.add(own);
      trim(own);
      const refusal = refuse(own.bytes);
      if (refusal === undefined)
        return {
          note(bytes) {
            own.bytes = Math.max(bytes, group.usualBytes);
            trim(own);
            const refusal = refuse(own.bytes);
            if (refusal !== undefined) own.bytes = 0; // It is ended now, and need not end others.
            return refusal;
          },
          end: () => void growing.delete(own),
        };
      growing.delete(own);
      throw refusal;
    },
    trim: () => trim(),
    look() {
      for (const { lane } of listWaiting(groups)) lane.look();
      for (const lane of dropIdle(groups, bounds.idleMs)) void evict(lane);
      trim();
    },
    figures: () => ({
      lanes: listLanes(groups).length,
      bytes: listWaiting(groups).reduce((sum, { lane }) => sum + lane.bytes(), 0),
      evicted,
    }),
  };
}

type Wanting = Pick<Holding, "accountId">;

/** A lane that is being started. */
interface Growing extends Wanting {
  bytes: number;
}

function toWanting({ request }: Group): Wanting {
  return { accountId: request.accountId };
}

/** The least recently used first. */
function listLanes(groups: Groups) {
  return [...groups.values()].flatMap((group) =>
    pruneClosed(group).map((lane) => ({ ...toWanting(group), group, lane })),
  );
}

function listWaiting(groups: Groups): ReturnType<typeof listLanes> {
  return listLanes(groups).filter(({ lane }) => lane.state() === "ready");
}

function listBytes(groups: Groups, growing: ReadonlySet<Growing>): Holding[] {
  // The memory of a lane that serves an execution is that execution's.
  const lanes = listLanes(groups).filter(({ lane }) => lane.state() !== "busy");
  return [
    ...lanes.map(({ accountId, lane }) => ({ accountId, amount: lane.bytes() })),
    ...[...growing].map(({ accountId, bytes }) => ({ accountId, amount: bytes })),
  ];
}

/** How many lanes there are or are being started, each with its successor as one. */
function listNumbers(groups: Groups): Holding[] {
  return [...groups.values()].map((group) => ({
    ...toWanting(group),
    amount: pruneClosed(group).filter((lane) => lane !== group.replaced).length + group.starting,
  }));
}

function sumOf(holdings: readonly Holding[]): number {
  return holdings.reduce((sum, { amount }) => sum + amount, 0);
}

/** Forgets codes that nobody has used for long; answers those of their lanes that wait. */
function dropIdle(groups: Groups, idleMs: number): Lane[] {
  const idle = [...groups].filter(([, group]) => Date.now() - group.usedAt > idleMs);
  for (const [key, group] of idle) if (isForgettable(group)) groups.delete(key);
  return idle.flatMap(([, group]) => pruneClosed(group)).filter((lane) => lane.state() === "ready");
}
