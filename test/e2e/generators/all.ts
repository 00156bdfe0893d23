import type { Generator } from "./generator.ts";
import { installPythonClient } from "./python.ts";
import { installTypeScriptClients } from "./typescript.ts";

/** The generators whose clients the tests use, by their names. */
export const GENERATORS: ReadonlyMap<string, () => Promise<Generator>> = new Map([
  ["openapi-python-client makes", installPythonClient],
  ["hey-api and openapi-typescript make", installTypeScriptClients],
]);
