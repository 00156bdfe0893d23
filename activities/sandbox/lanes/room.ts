import { formatBytes } from "../outcome.ts";
import type { LaneFigures, LaneSettings } from "../request.ts";
import { type Group, type Groups, isForgettable, pruneClosed } from "./group.ts";
import { UnfitError } from "./guard.ts";
import type { Lane } from "./lane.ts";

/** Lanes may be no more, or hold no more, and none of them can go. */
export class FullError extends Error {}

/** A lane that is being started, and what it holds by now. */
export interface Growth {
  /** Notes what it holds, closing others for that; answers why it must not go on. */
  note(bytes: number): Error | undefined;
  end(): void;
}

/** What the lanes of a host may be and hold together: those that wait, make a fork or are being started. */
export interface Room {
  /** Closes lanes until there is room for one more of this code. Throws FullError where none can go, UnfitError where it is too large for all. */
  makeFor(group: Group): Promise<Growth>;
  /** Closes waiting lanes, the least recently used first, while they hold more than they may. */
  trim(): void;
  /** Measures the lanes that wait, and closes those that nobody has used for long. */
  look(): void;
  figures(): LaneFigures;
}

export function createRoom(groups: Groups, bounds: LaneSettings): Room {
  const growing = new Set<{ bytes: number }>();
  let evicted = 0;

  const listLanes = () => [...groups.values()].flatMap(pruneClosed);
  const listWaiting = () => listLanes().filter((lane) => lane.state() === "ready");
  const count = () => [...groups.values()].reduce((sum, group) => sum + pruneClosed(group).length + group.starting, 0);
  /** The memory of a lane that serves an execution is that execution's. */
  const heldBytes = () =>
    [...listLanes().filter((lane) => lane.state() !== "busy"), ...growing].reduce((sum, { bytes }) => sum + bytes, 0);
  const evict = (lane: Lane) => {
    if (lane.state() !== "closed") evicted += 1;
    return lane.close();
  };
  const isTooLarge = (bytes: number) => bytes > bounds.idleBytesMax;
  const trim = () => {
    // One that is too large by itself would otherwise be the last to go.
    for (const lane of listWaiting()) if (isTooLarge(lane.bytes)) void evict(lane);
    for (const lane of listWaiting()) if (isTooLarge(heldBytes())) void evict(lane);
  };
  const refuse = (bytes: number): Error | undefined => {
    const max = formatBytes(bounds.idleBytesMax);
    if (isTooLarge(bytes))
      return new UnfitError(`Its packages keep more memory than the ${max} that all lanes may hold.`);
    return isTooLarge(heldBytes()) ? new FullError(`The lanes of this host hold the ${max} that they may.`) : undefined;
  };

  const makePlace = async (group: Group) => {
    for (const other of groups.values()) {
      if (count() <= bounds.lanesMax) return;
      if (other === group) continue;
      for (const lane of other.lanes) if (lane.state() === "ready") await evict(lane);
    }
    if (count() > bounds.lanesMax) throw new FullError(`All ${bounds.lanesMax} lanes of this host are in use.`);
  };

  return {
    async makeFor(group) {
      await makePlace(group);
      const own = { bytes: group.usualBytes };
      growing.add(own);
      trim();
      const refusal = refuse(own.bytes);
      if (refusal === undefined)
        return {
          note(bytes) {
            own.bytes = Math.max(bytes, group.usualBytes);
            trim();
            const refusal = refuse(own.bytes);
            if (refusal !== undefined) own.bytes = 0; // It is ended now, and need not end others.
            return refusal;
          },
          end: () => void growing.delete(own),
        };
      growing.delete(own);
      throw refusal;
    },
    trim,
    look() {
      for (const lane of listWaiting()) lane.look();
      for (const lane of dropIdle(groups, bounds.idleMs)) void evict(lane);
      trim();
    },
    figures: () => ({
      lanes: listLanes().length,
      bytes: listWaiting().reduce((sum, { bytes }) => sum + bytes, 0),
      evicted,
    }),
  };
}

/** Forgets codes that nobody has used for long; answers those of their lanes that wait. */
function dropIdle(groups: Groups, idleMs: number): Lane[] {
  const idle = [...groups].filter(([, group]) => Date.now() - group.usedAt > idleMs);
  for (const [key, group] of idle) if (isForgettable(group)) groups.delete(key);
  return idle.flatMap(([, group]) => pruneClosed(group)).filter((lane) => lane.state() === "ready");
}
