/**
 * Steps that checking the values of one request may take: comparisons of characters with patterns, and of names with names. A
 * step takes 7 ns (measured), so this is 0.7 s; honest requests take thousands.
 */
const CHECK_STEPS_MAX = 100_000_000;

/**
 * What is left of the steps of one request. A check counts down what it takes; below 0 the request asks for too much.
 */
export interface CheckBudget {
  steps: number;
}

/** Returns the budget of one request. */
export function createCheckBudget(steps = CHECK_STEPS_MAX): CheckBudget {
  return { steps };
}
