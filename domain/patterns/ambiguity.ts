import { findComponents } from "../manifest/components.ts";
import type { Automaton } from "./automaton.ts";

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
 * Returns true when one loop of the pattern can read the same text in two ways, as `(a+)+` or `(a|a)*` do. A
 * backtracking engine (a browser's, a client's) then needs time exponential in the length of a text that does not
 * match.
 */
export function isExponential(automaton: Automaton): boolean {
  const { follow } = automaton;
  const components = findComponents(follow.keys(), (position) => follow[position] ?? []);
  if (automaton.doubled.some(([from, to]) => components.get(from) === components.get(to))) return true;

  const loops = new Map<number, number[]>();
  for (const [position, component] of components) loops.set(component, [...(loops.get(component) ?? []), position]);
  const overlaps = compareAtoms(automaton.atoms);
  return [...loops.values()].some((loop) => loop.length <= LOOP_MAX && hasTwoWays(automaton, new Set(loop), overlaps));
}

function compareAtoms(atoms: readonly string[]): (one: number, other: number) => boolean {
  const accepted = new Map<string, Set<string>>();
  for (const atom of atoms) {
    if (accepted.has(atom)) continue;
    const expression = new RegExp(`^${atom}$`, "u");
    accepted.set(atom, new Set(SAMPLES.filter((sample) => expression.test(sample))));
  }
  const known = new Map<string, boolean>();
  return (one, other) => {
    const left = atoms[one] as string;
    const right = atoms[other] as string;
    if (left === right) return true;
    const pair = `${left}\0${right}`;
    const others = accepted.get(right) as Set<string>;
    const answer = known.get(pair) ?? [...(accepted.get(left) as Set<string>)].some((sample) => others.has(sample));
    known.set(pair, answer);
    return answer;
  };
}

/**
 * Whether two readers that start at one position, and read the same text, can part and meet at that position again.
 * Then a pair of different positions is in one component with a pair of equal ones.
 */
function hasTwoWays(
  automaton: Automaton,
  loop: ReadonlySet<number>,
  overlaps: (one: number, other: number) => boolean,
): boolean {
  const size = automaton.atoms.length;
  const follow = new Map([...loop].map((one) => [one, (automaton.follow[one] ?? []).filter((to) => loop.has(to))]));
  const isEqual = (pair: number): boolean => Math.floor(pair / size) === pair % size;
  const steps = (pair: number): number[] => {
    const others = follow.get(pair % size) ?? [];
    return (follow.get(Math.floor(pair / size)) ?? []).flatMap((one) =>
      others.filter((other) => overlaps(one, other)).map((other) => one * size + other),
    );
  };
  const equals = [...loop].map((position) => position * size + position);
  const components = findComponents(equals, steps);
  const meeting = new Set(equals.map((pair) => components.get(pair)));
  return [...components].some(([pair, component]) => !isEqual(pair) && meeting.has(component));
}
