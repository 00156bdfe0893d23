import { copyFile, cp } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { installPythonPackages } from "../../support/python-packages.ts";
import { DOCUMENTS, type Found, type Generator, KINDS, run } from "./generator.ts";
import { installOpenApiGenerator } from "./openapi-generator.ts";

const HERE = fileURLToPath(new URL("./pydantic/", import.meta.url));

/** openapi-generator for Python, with no option: each module that it makes is imported. */
export async function installPydanticClient(): Promise<Generator> {
  const packages = await installPythonPackages(join(HERE, "requirements.txt"));
  const { generate, remove } = await installOpenApiGenerator();
  return {
    async use(folder) {
      for (const name of [...DOCUMENTS, KINDS]) {
        const own = name.replaceAll("-", "_");
        const output = join(folder, "pydantic", own);
        await generate(folder, { language: "python", name, output, properties: `packageName=${own}` });
        await cp(join(output, own), join(folder, own), { recursive: true });
      }
      await copyFile(join(HERE, "call.py"), join(folder, "call.py"));
      return [JSON.parse(await run(join(packages.bin, "python"), ["call.py"], { cwd: folder })) as Found];
    },
    async remove() {
      await Promise.all([packages.remove(), remove()]);
    },
  };
}
