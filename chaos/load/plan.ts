import { createRandom, type Random } from "../random.ts";
import type { SentFile } from "../record.ts";

/** One call of a client: what it sends, and how it behaves. */
export interface CallPlan {
  /** Goes in as an input, so that the execution is known by it whatever the client hears. */
  readonly token: string;
  readonly workflow: string;
  readonly inputs: Readonly<Record<string, unknown>>;
  readonly files: readonly SentFile[];
  /** The client closes its connection after this time. */
  readonly hangUpMs: number | undefined;
  /** The body takes this long to be sent. */
  readonly trickleMs: number;
  /** Sent with an `Idempotency-Key`, again until there is an answer, and sometimes twice at once. */
  readonly keyed: "no" | "retried" | "doubled";
  readonly prefer: string | undefined;
  /** What is read once the client knows the execution: its result, log and files. */
  readonly follows: boolean;
  /** Before the client's next call. */
  readonly restMs: number;
}

type Shape = (random: Random) => Pick<CallPlan, "workflow" | "inputs"> & { readonly sizes?: readonly number[] };

const numbers = (random: Random): number[] =>
  Array.from({ length: random.integer(1, 12) }, () => random.integer(-1_000_000, 1_000_000));
const tally = (random: Random, seconds: number) => ({
  workflow: "tally",
  inputs: {
    numbers: numbers(random),
    seconds,
    ...(random.chance(0.2) ? { secret: `hush-${random.integer(0, 2 ** 40)}` } : {}),
  },
});

/** How often each comes, and what it is. */
const SHAPES: readonly (readonly [weight: number, shape: Shape])[] = [
  [46, (random) => tally(random, 0)],
  [17, (random) => tally(random, Math.round(random.between(1, 6) * 1000) / 1000)],
  [
    15,
    (random) => ({
      workflow: "pack",
      inputs: { label: `Größe ${random.integer(1, 999)}` },
      sizes: Array.from({ length: random.integer(1, 4) }, () => Math.floor(10 ** random.between(0, 5.5))),
    }),
  ],
  [7, () => ({ workflow: "faulty", inputs: {} })],
  [3, () => ({ workflow: "greedy", inputs: {} })],
  [3, () => ({ workflow: "endless", inputs: {} })],
  [9, (random) => ({ workflow: "outward", inputs: { numbers: numbers(random) } })],
];

/** An endless list of calls, which depends on the seed alone. */
export function* planCalls(seed: string): Generator<CallPlan> {
  const random = createRandom(seed, "calls");
  const total = SHAPES.reduce((sum, [weight]) => sum + weight, 0);
  for (let number = 1; ; number += 1) {
    let left = random.next() * total;
    const [, shape] = SHAPES.find(([weight]) => (left -= weight) < 0) ?? (SHAPES[0] as (typeof SHAPES)[number]);
    const { workflow, inputs, sizes = [] } = shape(random);
    const token = `${seed}-${number}`;
    const hangsUp = random.chance(0.06);
    yield {
      token,
      workflow,
      inputs: { token, ...inputs },
      files: sizes.map((bytes, index) => ({
        input: index === 0 ? "first" : "others",
        fileName: `part ${index}.dat`,
        bytes,
      })),
      hangUpMs: hangsUp ? Math.round(10 ** random.between(0.5, 3.3)) : undefined,
      trickleMs: sizes.length > 0 && random.chance(0.4) ? Math.round(random.between(100, 2_500)) : 0,
      keyed: hangsUp ? "no" : random.pick(["no", "no", "retried", "doubled"]),
      prefer: random.pick([undefined, undefined, undefined, "respond-async", "wait=1"]),
      follows: random.chance(0.35),
      restMs: Math.round(random.between(0, 250)),
    };
  }
}
