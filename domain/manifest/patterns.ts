import { countCharacters } from "./json-values.ts";
import { isExponential } from "./pattern-ambiguity.ts";
import { type Automaton, buildAutomaton } from "./pattern-automaton.ts";
import { parsePattern } from "./pattern-syntax.ts";

const PATTERN_CHARACTERS_MAX = 1_000;

/** Longest value that is compared with a pattern: at 5,000 steps a character this is some tenths of a second at worst. */
export const PATTERN_VALUE_CHARACTERS_MAX = 10_000;

export type PatternCheck = { readonly ok: true } | { readonly ok: false; readonly message: string };

const CACHE_MAX = 500;
const automata = new Map<string, Automaton>();

/** Says why a pattern of a manifest is refused. The messages complete "inputs.x.pattern: …". */
export function checkPattern(source: string): PatternCheck {
  if (countCharacters(source) > PATTERN_CHARACTERS_MAX) {
    return { ok: false, message: `is longer than ${PATTERN_CHARACTERS_MAX} characters.` };
  }
  try {
    new RegExp(source, "u");
  } catch (error) {
    return { ok: false, message: `is not a regular expression: ${explain(error)}.` };
  }
  const syntax = parsePattern(source);
  if (!syntax.ok) return { ok: false, message: `${syntax.message}.` };
  const automaton = buildAutomaton(syntax.node);
  if (!automaton) {
    return {
      ok: false,
      message: "has repetitions that make it too large; write * or +, and bound the value with max_length.",
    };
  }
  if (isExponential(automaton)) {
    return {
      ok: false,
      message:
        "repeats something in which the same text can be read in several ways, which takes exponential time in many programs; " +
        "write (a+)+ as a+, (a|b)* as [ab]*, and (\\w+\\s?)* as \\w+(\\s\\w+)*.",
    };
  }
  return { ok: true };
}

/**
 * Whether the whole value matches a pattern that `checkPattern` has accepted. Time grows with the length of the value
 * and never with its content: all readings are followed at once, nothing is tried twice. Throws RangeError on a
 * pattern that was never checked, which would be a bug of ours.
 */
export function matchesPattern(source: string, value: string): boolean {
  const automaton = findAutomaton(source);
  if (value === "") return automaton.acceptsEmpty;
  const accepts = compileAtoms(automaton.atoms);
  let reachable: Iterable<number> = automaton.first;
  let active: number[] = [];
  for (const character of value) {
    const matching = accepts(character);
    active = [];
    for (const position of reachable) if (matching[position]) active.push(position);
    if (active.length === 0) return false;
    const next = new Set<number>();
    for (const position of active) for (const target of automaton.follow[position] ?? []) next.add(target);
    reachable = next;
  }
  return active.some((position) => automaton.last.has(position));
}

function findAutomaton(source: string): Automaton {
  const known = automata.get(source);
  if (known) return known;
  const syntax = parsePattern(source);
  const automaton = syntax.ok ? buildAutomaton(syntax.node) : undefined;
  if (!automaton) throw new RangeError("A pattern must pass checkPattern before values are compared with it.");
  if (automata.size >= CACHE_MAX) automata.clear();
  automata.set(source, automaton);
  return automaton;
}

/** For each character which positions accept it. Every single-character test is left to the engine, which knows \p{…} and classes. */
function compileAtoms(atoms: readonly string[]): (character: string) => readonly boolean[] {
  const distinct = new Map<string, RegExp>();
  for (const atom of atoms) if (!distinct.has(atom)) distinct.set(atom, new RegExp(`^${atom}$`, "u"));
  const known = new Map<string, readonly boolean[]>();
  return (character) => {
    const answer = known.get(character);
    if (answer) return answer;
    const verdicts = new Map([...distinct].map(([atom, expression]) => [atom, expression.test(character)]));
    const matching = atoms.map((atom) => verdicts.get(atom) as boolean);
    if (known.size < 1_000) known.set(character, matching);
    return matching;
  };
}

/** The engine's words without its repetition of the pattern. */
function explain(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return message.slice(message.lastIndexOf(": ") + 2).toLowerCase();
}
