import { cp, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { DOCUMENTS, type Found, type Generator, KINDS, run } from "./generator.ts";
import { installOpenApiGenerator } from "./openapi-generator.ts";

const MODULE = fileURLToPath(new URL("./go", import.meta.url));

/** openapi-generator for Go, with no option: all that it makes is compiled. */
export async function installGoClient(): Promise<Generator> {
  const { generate, remove } = await installOpenApiGenerator();
  return {
    async use(folder) {
      const module = join(folder, "go");
      await cp(MODULE, module, { recursive: true });
      for (const name of [...DOCUMENTS, KINDS]) {
        const own = name.replaceAll("-", "_");
        const output = join(module, own);
        await generate(folder, { language: "go", name, output, properties: `packageName=${own}` });
        // It is a package of our module, which has what it stands on pinned; its tests need more.
        for (const path of ["go.mod", "go.sum", "test"]) await rm(join(output, path), { recursive: true });
      }
      await run("go", ["build", "./..."], { cwd: module });
      const called = await run("go", ["run", ".", join(folder, "site.json")], { cwd: module });
      return [JSON.parse(called) as Found];
    },
    remove,
  };
}
