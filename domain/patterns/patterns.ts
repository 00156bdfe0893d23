import { type CheckBudget, createCheckBudget } from "../manifest/check-budget.ts";
import { countCharacters } from "../manifest/json-values.ts";
import { messageOf } from "../message-of.ts";
import { isExponential } from "./ambiguity.ts";
import { type Automaton, buildAutomaton } from "./automaton.ts";
import { parsePattern } from "./syntax.ts";

const PATTERN_CHARACTERS_MAX = 1_000;

/** Longest value that is compared with a pattern: at 5,000 steps a character this takes a tenth of a second at worst. */
export const PATTERN_VALUE_CHARACTERS_MAX = 10_000;

export type PatternCheck = { readonly ok: true } | { readonly ok: false; readonly message: string };

const CACHE_MAX = 500;
const automata = new Map<string, Automaton>();

/** Returns why a pattern of a manifest is refused. The messages complete "inputs.x.pattern: …". */
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

/** Steps that each position and edge of a new automaton takes. */
const BUILT_STEPS = 50;
/** Steps that a regular expression for one character takes, to make and to ask. */
const ATOM_MADE_STEPS = 300;
const ATOM_ASKED_STEPS = 30;
/** Characters whose answers are kept while one value is compared. */
const CHARACTERS_KNOWN_MAX = 1_000;

/**
 * Whether the whole value matches a pattern that `checkPattern` has accepted. Time grows with the length of the value
 * and never with its content: all readings are followed at once, nothing is tried twice. Counts its steps in `budget`;
 * undefined when there are not enough left. Throws RangeError on a pattern that was never checked, which would be a bug of ours.
 */
export function matchesPattern(source: string, value: string, budget = createCheckBudget()): boolean | undefined {
  const automaton = findAutomaton(source, budget);
  const { follow, last } = automaton;
  if (value === "") return automaton.acceptsEmpty;
  const accepts = compileAtoms(automaton.atoms, budget);
  const reached = new Uint32Array(follow.length);
  let reachable: readonly number[] = automaton.first;
  let active: number[] = [];
  let turn = 0;
  for (const character of value) {
    turn += 1;
    const matching = accepts(character);
    active = reachable.filter((position) => matching[position] === 1);
    if (active.length === 0) return false;
    const next: number[] = [];
    for (const position of active) {
      const targets = follow[position] as readonly number[];
      budget.steps -= targets.length;
      for (const target of targets) {
        if (reached[target] === turn) continue;
        reached[target] = turn;
        next.push(target);
      }
    }
    budget.steps -= reachable.length;
    if (budget.steps < 0) return undefined;
    reachable = next;
  }
  return active.some((position) => last.has(position));
}

function findAutomaton(source: string, budget: CheckBudget): Automaton {
  const known = automata.get(source);
  if (known) return known;
  const syntax = parsePattern(source);
  const automaton = syntax.ok ? buildAutomaton(syntax.node) : undefined;
  if (!automaton) throw new RangeError("A pattern must pass checkPattern before values are compared with it.");
  if (automata.size >= CACHE_MAX) automata.clear();
  automata.set(source, automaton);
  budget.steps -= BUILT_STEPS * automaton.follow.reduce((sum, targets) => sum + 1 + targets.length, 0);
  return automaton;
}

/** For each character which positions accept it (1). Every single-character test is left to the engine, which knows \p{…} and classes. */
function compileAtoms(atoms: readonly string[], budget: CheckBudget): (character: string) => Uint8Array {
  const distinct = [...new Set(atoms)];
  const places = new Map(distinct.map((atom, place) => [atom, place]));
  const placeOf = Uint16Array.from(atoms, (atom) => places.get(atom) as number);
  budget.steps -= distinct.length * ATOM_MADE_STEPS;
  const expressions = distinct.map((atom) => new RegExp(`^${atom}$`, "u"));
  const known = new Map<string, Uint8Array>();
  return (character) => {
    const answer = known.get(character);
    if (answer) return answer;
    budget.steps -= distinct.length * ATOM_ASKED_STEPS + atoms.length;
    const results = expressions.map((expression) => (expression.test(character) ? 1 : 0));
    const matching = Uint8Array.from(placeOf, (place) => results[place] as number);
    if (known.size < CHARACTERS_KNOWN_MAX) known.set(character, matching);
    return matching;
  };
}

/** The engine's words without its repetition of the pattern. */
function explain(error: unknown): string {
  const message = messageOf(error);
  return message.slice(message.lastIndexOf(": ") + 2).toLowerCase();
}
