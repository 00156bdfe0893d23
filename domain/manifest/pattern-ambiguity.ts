import type { Automaton } from "./pattern-automaton.ts";

/** Larger loops are not searched: comparing pairs costs their square, and our own matching is linear in any case. */
const LOOP_MAX = 40;

/** Enough to see that two atoms overlap: ASCII, and one each of accented, Cyrillic, Han, emoji, digit and space beyond it. */
const SAMPLES = [
  ...Array.from({ length: 128 }, (_, code) => String.fromCharCode(code)),
  "é",
  "Ж",
  "漢",
  "😀",
  "٣",
  "\u00a0",
];

/**
 * True when one loop of the pattern can read the same text in two ways, as `(a+)+` or `(a|a)*` do: a backtracking
 * engine (a browser's, a client's) then needs time exponential in the length of a text that does not match.
 */
export function isExponential(automaton: Automaton): boolean {
  const reach = automaton.follow.map((_, position) => findReachable(automaton, position));
  const inLoop = (from: number, to: number): boolean =>
    (reach[from]?.has(to) ?? false) && (reach[to]?.has(from) ?? false);
  if (automaton.doubled.some(([from, to]) => inLoop(from, to))) return true;

  const overlaps = compareAtoms(automaton.atoms);
  const seen = new Set<number>();
  for (let position = 0; position < automaton.follow.length; position += 1) {
    if (seen.has(position) || !inLoop(position, position)) continue;
    const loop = [...(reach[position] as Set<number>)].filter((other) => inLoop(position, other));
    for (const member of loop) seen.add(member);
    if (loop.length <= LOOP_MAX && hasTwoWays(automaton, new Set(loop), overlaps)) return true;
  }
  return false;
}

function findReachable(automaton: Automaton, from: number): Set<number> {
  const reached = new Set<number>();
  const open = [...(automaton.follow[from] ?? [])];
  for (let position = open.pop(); position !== undefined; position = open.pop()) {
    if (reached.has(position)) continue;
    reached.add(position);
    open.push(...(automaton.follow[position] ?? []));
  }
  return reached;
}

function compareAtoms(atoms: readonly string[]): (one: number, other: number) => boolean {
  const accepted = new Map<string, Set<string>>();
  for (const atom of atoms) {
    if (accepted.has(atom)) continue;
    const expression = new RegExp(`^${atom}$`, "u");
    accepted.set(atom, new Set(SAMPLES.filter((sample) => expression.test(sample))));
  }
  return (one, other) => {
    const left = atoms[one] as string;
    const right = atoms[other] as string;
    if (left === right) return true;
    const set = accepted.get(right) as Set<string>;
    return [...(accepted.get(left) as Set<string>)].some((sample) => set.has(sample));
  };
}

/** Whether two readers that start at one position, and read the same text, can part and meet at that position again. */
function hasTwoWays(
  automaton: Automaton,
  loop: ReadonlySet<number>,
  overlaps: (one: number, other: number) => boolean,
): boolean {
  const size = automaton.atoms.length;
  const next = new Map<number, number[]>();
  const steps = (pair: number): number[] => {
    const known = next.get(pair);
    if (known) return known;
    const found: number[] = [];
    for (const one of automaton.follow[Math.floor(pair / size)] ?? []) {
      if (!loop.has(one)) continue;
      for (const other of automaton.follow[pair % size] ?? []) {
        if (loop.has(other) && overlaps(one, other)) found.push(one * size + other);
      }
    }
    next.set(pair, found);
    return found;
  };
  for (const start of loop) {
    const diagonal = start * size + start;
    const parted = [...walkPairs([diagonal], steps)].filter((pair) => Math.floor(pair / size) !== pair % size);
    if (parted.length > 0 && walkPairs(parted, steps).has(diagonal)) return true;
  }
  return false;
}

/** Every pair that can be reached in one step or more. */
function walkPairs(from: readonly number[], steps: (pair: number) => number[]): Set<number> {
  const reached = new Set<number>();
  const open = from.flatMap(steps);
  for (let pair = open.pop(); pair !== undefined; pair = open.pop()) {
    if (reached.has(pair)) continue;
    reached.add(pair);
    open.push(...steps(pair));
  }
  return reached;
}
