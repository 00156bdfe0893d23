import { createHash } from "node:crypto";

/** A stream of chances that depends on its seed alone. */
export interface Random {
  /** At least 0 and below 1. */
  next(): number;
  /** At least `min` and below `max`. */
  between(min: number, max: number): number;
  /** Both ends included. */
  integer(min: number, max: number): number;
  chance(probability: number): boolean;
  pick<T>(list: readonly T[]): T;
  shuffle<T>(list: readonly T[]): T[];
}

/** The same seed gives the same stream, on every machine. Streams of different names are independent of each other. */
export function createRandom(seed: string, name: string): Random {
  const words = createHash("sha256").update(`${seed}/${name}`).digest();
  let [a, b, c, count] = [words.readInt32LE(0), words.readInt32LE(4), words.readInt32LE(8), words.readInt32LE(12)];

  /** sfc32 of PractRand: 128 bits of state, passes its tests. */
  function next(): number {
    const sum = (((a + b) | 0) + count) | 0;
    count = (count + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (((c << 21) | (c >>> 11)) + sum) | 0;
    return (sum >>> 0) / 2 ** 32;
  }

  const integer = (min: number, max: number): number => min + Math.floor(next() * (max - min + 1));
  return {
    next,
    integer,
    between: (min, max) => min + next() * (max - min),
    chance: (probability) => next() < probability,
    pick<T>(list: readonly T[]): T {
      if (list.length === 0) throw new RangeError("There is nothing to pick from.");
      return list[integer(0, list.length - 1)] as T;
    },
    shuffle<T>(list: readonly T[]): T[] {
      const shuffled = [...list];
      for (let last = shuffled.length - 1; last > 0; last -= 1) {
        const other = integer(0, last);
        [shuffled[last], shuffled[other]] = [shuffled[other] as T, shuffled[last] as T];
      }
      return shuffled;
    },
  };
}
