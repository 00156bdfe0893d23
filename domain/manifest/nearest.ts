import { type CheckBudget, createCheckBudget } from "./check-budget.ts";

const CHARACTERS_MAX = 100;
/** Steps of a search whose caller has no budget. */
const STEPS_MAX = 1_000_000;
/** Steps that each pair of characters takes. */
const PAIR_STEPS = 20;

/**
 * The candidate a person probably meant, or undefined when none is close. Case does not count. Counts its steps in `budget`, and
 * looks at no more candidates when there are none left.
 */
export function findNearest(
  text: string,
  candidates: Iterable<string>,
  budget: CheckBudget = createCheckBudget(STEPS_MAX),
): string | undefined {
  if (text.length > CHARACTERS_MAX) return undefined;
  const wanted = text.toLowerCase();
  let nearest: string | undefined;
  // A third of the characters may be wrong, at least one, and never all of them.
  let distanceMin = Math.min(wanted.length, Math.max(1, Math.floor(wanted.length / 3)) + 1);
  for (const candidate of candidates) {
    if (Math.abs(wanted.length - candidate.length) >= distanceMin) continue;
    budget.steps -= PAIR_STEPS * wanted.length * candidate.length;
    if (budget.steps < 0) return nearest;
    const distance = countEdits(wanted, candidate.toLowerCase(), distanceMin);
    if (distance < distanceMin) {
      nearest = candidate;
      distanceMin = distance;
    }
  }
  return nearest;
}

/** ` Did you mean "x"?` with its leading space, or an empty text. */
export function suggest(text: string, candidates: Iterable<string>, budget?: CheckBudget): string {
  const nearest = findNearest(text, candidates, budget);
  return nearest === undefined ? "" : ` Did you mean "${nearest}"?`;
}

/** Edit distance where a swap of neighbours is one edit. Gives up with `limit` once it cannot be below it. */
function countEdits(from: string, to: string, limit: number): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let row = 1; row <= from.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= to.length; column += 1) {
      const same = from[row - 1] === to[column - 1];
      let edits = Math.min(at(last, column) + 1, at(current, column - 1) + 1, at(last, column - 1) + (same ? 0 : 1));
      const swapped = row > 1 && column > 1 && from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      if (swapped) edits = Math.min(edits, at(beforeLast, column - 2) + 1);
      current.push(edits);
    }
    if (Math.min(...current) >= limit) return limit;
    beforeLast = last;
    last = current;
  }
  return at(last, to.length);
}

function at(row: readonly number[], column: number): number {
  return row[column] ?? Number.POSITIVE_INFINITY;
}
