import { copyFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { installPythonPackages } from "../../support/python-packages.ts";
import { DOCUMENTS, type Found, type Generator, run } from "./generator.ts";

const HERE = fileURLToPath(new URL(".", import.meta.url));

/** openapi-python-client; a document that it leaves out anything of, or a module that cannot be imported, is an error. */
export async function installPythonClient(): Promise<Generator> {
  const packages = await installPythonPackages(join(HERE, "requirements.txt"));
  const env = { PATH: `${packages.bin}:${process.env["PATH"]}` };
  return {
    async use(folder) {
      // It would put what it has made into better form.
      await writeFile(join(folder, "settings.json"), JSON.stringify({ post_hooks: [] }));
      for (const name of DOCUMENTS) {
        const output = name.replaceAll("-", "_");
        const args = [
          "generate",
          "--path",
          `${name}.json`,
          "--meta",
          "none",
          "--output-path",
          output,
          "--config",
          "settings.json",
          "--fail-on-warning",
        ];
        await run(join(packages.bin, "openapi-python-client"), args, { cwd: folder, env });
      }
      await copyFile(join(HERE, "call.py"), join(folder, "call.py"));
      return [JSON.parse(await run(join(packages.bin, "python"), ["call.py"], { cwd: folder, env })) as Found];
    },
    remove: packages.remove,
  };
}
