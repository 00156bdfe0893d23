import { test } from "@jest/globals";
import { IS_LONG } from "./cluster.ts";

/** A test of what one process does with the machine it is on. In the long form of clusters there is none. */
export const testAlone: (name: string, run: () => Promise<void>, timeoutMs?: number) => void = IS_LONG
  ? () => undefined
  : test;
