import type { Progress } from "../../sandbox/sandbox.ts";

/** What else than its log those see who follow an execution. */
export interface LiveState {
  /** What its program has said last of how far it is; null where it said nothing. */
  readonly progress: Progress | null;
  /** 1: the next that gets a slot on its host; null where it has one, or waits on no host. */
  readonly slotPosition: number | null;
}
