import type { Interpreters } from "../../environments/interpreters.ts";
import type { Python } from "../../environments/lock.ts";
import { minorVersionOf } from "../../sandbox/interpreter.ts";

/** An interpreter for tests that start none. */
export const A_PYTHON: Python = {
  path: "/usr/bin/python3.11",
  version: "3.11.2",
  prefix: "/usr",
  bindPaths: [],
  platform: "linux-x86_64-glibc2.36",
};

/** For a machine of one interpreter. */
export function onlyInterpreter(standard: Python): Interpreters {
  const find: Interpreters["find"] = async (minor) =>
    minor === null || minor === minorVersionOf(standard) ? standard : undefined;
  return { standard, find, list: async () => [standard] };
}
