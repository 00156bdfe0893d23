import { cp, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { DOCUMENTS, type Found, type Generator, KINDS, run } from "./generator.ts";

const MODULE = fileURLToPath(new URL("./oapi-codegen", import.meta.url));
const PROGRAM = "github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2";

/** oapi-codegen, with types and a client of each document: all that it makes is compiled. */
export async function installOapiCodegenClient(): Promise<Generator> {
  return {
    async use(folder) {
      const module = join(folder, "oapi-codegen");
      await cp(MODULE, module, { recursive: true });
      for (const name of [...DOCUMENTS, KINDS]) {
        const own = name.replaceAll("-", "_");
        await mkdir(join(module, own));
        const args = ["-generate", "types,client", "-package", own, "-o", join(module, own, "client.go")];
        await run("go", ["run", PROGRAM, ...args, `${name}.json`], { cwd: folder });
      }
      await run("go", ["build", "./..."], { cwd: module });
      const called = await run("go", ["run", ".", join(folder, "site.json")], { cwd: module });
      return [JSON.parse(called) as Found];
    },
    remove: async () => undefined,
  };
}
