import type { Attack, Way } from "./siege.ts";

/**
 * The ways that an attack is tried by an ordinary user's service: one, by turns cold and in a lane, as a service of root tries them
 * all. The long form, `TREADLE_TEST_SANDBOX=all`, tries them all here, too.
 */
export function waysOf({ ways }: Attack, index: number): readonly Way[] {
  return process.env["TREADLE_TEST_SANDBOX"] === "all" ? ways : ways.slice(index % ways.length).slice(0, 1);
}
