import { createRandom } from "../random.ts";

/** Every kind of process that can be killed, by the part it plays. `faults/victims.ts` finds them. */
export const VICTIMS = [
  "service",
  "temporal",
  "postgres",
  "backend",
  "lane",
  "zygote",
  "fork",
  "sandbox",
  "program",
  "router",
] as const;
export type Victim = (typeof VICTIMS)[number];

export const PAUSED = ["service", "temporal", "postgres"] as const;

/** What several processes share. */
export const DEPENDENCIES = ["postgres", "temporal", "storage"] as const;

/** What is done to the service. `at`: when, as a share of the executions asked for. `pick`: which of several victims. */
export type Fault = { readonly at: number } & (
  | { readonly kind: "kill"; readonly victim: Victim; readonly pick: number; readonly againMs: number | undefined }
  | { readonly kind: "pause"; readonly victim: (typeof PAUSED)[number]; readonly ms: number }
  /** Storage refuses to be read and written. */
  | { readonly kind: "refuse"; readonly ms: number }
  /** The disk of the data folder is full. */
  | { readonly kind: "fill"; readonly ms: number }
  /** A stop as an operator asks for it, and a start; of several processes one after the other. */
  | { readonly kind: "restart" }
  /** One process of several does not reach a server. `pick`: which process. */
  | { readonly kind: "cut"; readonly from: (typeof DEPENDENCIES)[number]; readonly pick: number; readonly ms: number }
);

type Deed = Fault extends infer One ? (One extends Fault ? Omit<One, "at"> : never) : never;

/** After a service was killed, its successor is, too, while it starts: in this share of the cases. */
const KILLED_AGAIN = 0.35;

/**
 * The faults of a run, in order: `kills` kills, of every kind in turn, and in proportion pauses, refusals, full disks and
 * restarts; where there are several processes, cuts too. Depends on these arguments alone.
 */
export function planFaults(seed: string, kills: number, isCluster = false): Fault[] {
  const random = createRandom(seed, "faults");
  const victims: Victim[] = [];
  while (victims.length < kills) victims.push(...random.shuffle(VICTIMS));
  const count = (share: number): number[] => Array.from({ length: Math.ceil(kills * share) }, (_, index) => index);
  const deeds: Deed[] = random.shuffle<Deed>([
    ...victims.slice(0, kills).map((victim): Deed => {
      const again = victim === "service" && random.chance(KILLED_AGAIN);
      return {
        kind: "kill",
        victim,
        pick: random.next(),
        againMs: again ? Math.round(random.between(200, 5_000)) : undefined,
      };
    }),
    ...count(0.25).map((): Deed => ({ kind: "pause", victim: random.pick(PAUSED), ms: milliseconds(500, 5_000) })),
    ...count(0.08).map((): Deed => ({ kind: "refuse", ms: milliseconds(500, 4_000) })),
    ...count(0.06).map((): Deed => ({ kind: "fill", ms: milliseconds(500, 3_000) })),
    ...count(0.08).map((): Deed => ({ kind: "restart" })),
    ...count(isCluster ? 0.4 : 0).map(
      (index): Deed => ({
        kind: "cut",
        from: DEPENDENCIES[index % DEPENDENCIES.length] as (typeof DEPENDENCIES)[number],
        pick: random.next(),
        ms: milliseconds(500, 8_000),
      }),
    ),
  ]);
  function milliseconds(min: number, max: number): number {
    return Math.round(random.between(min, max));
  }
  // Spread over the run, each somewhere in its own part of it.
  return deeds.map((deed, index) => ({ at: (index + random.next()) / (deeds.length + 1), ...deed }) as Fault);
}
