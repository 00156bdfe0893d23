import type { Db } from "../../db/connect.ts";
import { type HostCeilings, type HostOffers, type HostRow, listHosts } from "../../db/executions/hosts.ts";
import type { Limits } from "../../domain/manifest/manifest.ts";
import { type Repeating, repeat } from "../../system/repeating.ts";
import type { Log } from "../log.ts";

const KINDS = ["memoryBytes", "cpu", "scratchBytes"] as const;
/** Rarer than hosts say how they are: what they give seldom changes, and each look wakes an idle process. */
const LOOK_EVERY_MS = 15_000;

/** Returns the highest that any of these hosts gives one program; undefined where none has said. Those that stop do not count. */
export function findHighest(
  hosts: readonly Pick<HostRow, "present" | "draining" | "programs">[],
): HostCeilings | undefined {
  const all = hosts.flatMap(({ present, draining, programs }) =>
    present && !draining && programs?.offers.ceilings !== undefined ? [programs.offers.ceilings] : [],
  );
  if (all.length === 0) return undefined;
  const most = (kind: (typeof KINDS)[number]): number => Math.max(...all.map((ceilings) => ceilings[kind]));
  return { memoryBytes: most("memoryBytes"), cpu: most("cpu"), scratchBytes: most("scratchBytes") };
}

/** Returns whether a host gives a program as much of what it asks for as any other would. */
export function givesMost(
  { ceilings }: Pick<HostOffers, "ceilings">,
  { memoryBytes, cpu, scratchBytes = 0 }: Limits,
  highest: HostCeilings | undefined,
): boolean {
  if (ceilings === undefined || highest === undefined) return true;
  const asked = { memoryBytes, cpu, scratchBytes };
  return KINDS.every((kind) => ceilings[kind] >= Math.min(asked[kind], highest[kind]));
}

/** What another host gives a program beyond what this one does. */
export interface CeilingsWatch extends Repeating {
  /** Whether there is anything of that kind. */
  areHigher(): boolean;
}

/** Looks every 15 seconds whether programs get more elsewhere. */
export function watchCeilings({ db, own, log }: { db: Db; own: HostCeilings; log: Log }): CeilingsWatch {
  let higher = false;
  const looking = repeat(
    async () => {
      const highest = findHighest(await listHosts(db));
      higher = highest !== undefined && KINDS.some((kind) => highest[kind] > own[kind]);
      return false;
    },
    {
      everyMs: LOOK_EVERY_MS,
      onError: (error) =>
        log.warn({ event: "fault", error }, "It could not be looked at what other hosts give programs."),
    },
  );
  return { ...looking, areHigher: () => higher };
}
