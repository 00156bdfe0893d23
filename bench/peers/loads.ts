import { setTimeout as sleep } from "node:timers/promises";

/** Calls under way at most when arrivals do not wait: a peer that falls so far behind has failed, and memory is kept. */
const UNDER_WAY_MAX = 1_000;
/** Calls of a block, and the pause after the peer's. */
const BLOCK = 10;
const PAUSE_MS = 300;

/** One call: its milliseconds, and the comparison of its answer, which waits until the load is over. */
export interface Done {
  readonly ms: number;
  readonly check: () => Promise<boolean>;
}

/** Makes a call that resolves at its end; `number` makes its value, so that no two answers are the same. */
export type Call = (number: number) => Promise<() => Promise<boolean>>;

export interface Measured {
  readonly done: readonly Done[];
  /** Messages of calls that failed. */
  readonly errors: readonly string[];
  /** From the first call to the end of the last. */
  readonly seconds: number;
}

/** What tests replace. */
export interface Clock {
  readonly now: () => number;
  readonly sleep: (ms: number) => Promise<unknown>;
}

const REAL: Clock = { now: () => performance.now(), sleep: (ms) => sleep(ms) };

/** `callers` that call again as soon as they have their answer, until the time or the number of calls is up. */
export async function measureClosed(
  call: Call,
  { callers, seconds, most = Number.POSITIVE_INFINITY }: { callers: number; seconds: number; most?: number },
  clock: Clock = REAL,
): Promise<Measured> {
  const startedAt = clock.now();
  const [done, errors]: [Done[], string[]] = [[], []];
  let number = 0;
  const caller = async (): Promise<void> => {
    while (number < most && clock.now() - startedAt < seconds * 1000) {
      await measureCall(call, number++, clock.now(), { done, errors, clock });
    }
  };
  await Promise.all(Array.from({ length: callers }, caller));
  return { done, errors, seconds: (clock.now() - startedAt) / 1000 };
}

/**
 * Calls that arrive at a constant rate, whether or not those before them have ended. Each one's time counts from when it
 * was due, not from when it was sent: a peer that stands still keeps all the calls waiting that were due meanwhile.
 */
export async function measureOpen(
  call: Call,
  { perSecond, seconds }: { perSecond: number; seconds: number },
  clock: Clock = REAL,
): Promise<Measured> {
  const startedAt = clock.now();
  const [done, errors]: [Done[], string[]] = [[], []];
  const underWay = new Set<Promise<void>>();
  const count = Math.floor(perSecond * seconds);
  for (let number = 0; number < count; number++) {
    const dueAt = startedAt + (number * 1000) / perSecond;
    const early = dueAt - clock.now();
    if (early > 0) await clock.sleep(early);
    if (underWay.size >= UNDER_WAY_MAX) await Promise.race(underWay);
    const ended = measureCall(call, number, dueAt, { done, errors, clock }).finally(() => underWay.delete(ended));
    underWay.add(ended);
  }
  await Promise.all(underWay);
  return { done, errors, seconds: (clock.now() - startedAt) / 1000 };
}

/**
 * Blocks of bare starts in turn with blocks of a peer's calls, so that both meet the same phases of a noisy machine. Within
 * a block a call follows the one before at once: what a peer puts off delays its own next call. A pause keeps it from the
 * bare starts, which took 1.2 times as long directly after a call of Treadle.
 */
export async function measureInTurn(
  calls: {
    readonly bare: Call;
    /** Makes ready what is called next, outside of the clock. */
    readonly nextPeer: () => Promise<Call>;
  },
  { seconds, most }: { seconds: number; most: number },
  clock: Clock = REAL,
): Promise<{ bare: Measured; peer: Measured }> {
  const startedAt = clock.now();
  const [bare, peer]: [Measured[], Measured[]] = [[], []];
  const once = (call: Call, number: number) =>
    measureClosed(() => call(number), { callers: 1, seconds: Number.POSITIVE_INFINITY, most: 1 }, clock);
  for (let first = 0; first < most && clock.now() - startedAt < seconds * 1000; first += BLOCK) {
    const numbers = Array.from({ length: Math.min(BLOCK, most - first) }, (_, index) => first + index);
    for (const number of numbers) bare.push(await once(calls.bare, number));
    for (const number of numbers) peer.push(await once(await calls.nextPeer(), number));
    await clock.sleep(PAUSE_MS);
  }
  return { bare: join(bare), peer: join(peer) };
}

function join(parts: readonly Measured[]): Measured {
  return {
    done: parts.flatMap(({ done }) => done),
    errors: parts.flatMap(({ errors }) => errors),
    seconds: parts.reduce((total, { seconds }) => total + seconds, 0),
  };
}

async function measureCall(
  call: Call,
  number: number,
  since: number,
  { done, errors, clock }: { done: Done[]; errors: string[]; clock: Clock },
): Promise<void> {
  try {
    const check = await call(number);
    done.push({ ms: clock.now() - since, check });
  } catch (error) {
    errors.push(error instanceof Error ? error.message : String(error));
  }
}
