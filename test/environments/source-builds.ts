// Environments whose packages may be built from their source, as kernel users of their own.
import { afterAll, beforeAll } from "@jest/globals";
import type { Environments } from "../../environments/builder.ts";
import type { KernelUsers } from "../../sandbox/users/kernel-users.ts";
import { removeTree } from "../../system/trees/remove-tree.ts";
import { openUsers } from "../runner/harness.ts";
import { RUN_AS, someEnvironments, theRequirements } from "./machine.ts";

export const SOURCE = { build: "source" } as const;
/** Undefined where the machine has none for who runs the tests. */
export let users: KernelUsers | undefined;
beforeAll(async () => {
  users = await openUsers(RUN_AS);
});
afterAll(async () => {
  await users?.close();
});

/** Environments whose builds are kernel users of their own, where the machine has some. */
export function someBuilders(changes: Parameters<typeof someEnvironments>[0]) {
  const remove = async (path: string) => {
    await users?.takeBack(path);
    await removeTree(path);
  };
  return someEnvironments({ users, removeTree: remove, ...changes });
}

export async function lockSource(environments: Environments, ...lines: string[]) {
  const result = await environments.lock(theRequirements(...lines), SOURCE);
  if (!result.ok) throw new Error(`${JSON.stringify(result.problems)}\n${result.log}`);
  return result;
}
