import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The folder of the whole project: this file is in it, and its compiled form in a folder of it. */
export const CHECKOUT = findCheckout();
export const PROGRAM = join(CHECKOUT, "bin/treadle");

function findCheckout(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, "bin/treadle"))) folder = dirname(folder);
  return folder;
}
