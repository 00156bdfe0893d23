import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { DOCUMENTS, type Found, type Generator, KINDS, run } from "./generator.ts";
import { installOpenApiGenerator } from "./openapi-generator.ts";

const CALLER = fileURLToPath(new URL("./java/Caller.java", import.meta.url));

/** openapi-generator for Java, with its default library and no option: all that it makes is compiled. */
export async function installJavaClient(): Promise<Generator> {
  const { libraries, generate, remove } = await installOpenApiGenerator();
  return {
    async use(folder) {
      const sources = [CALLER];
      for (const name of [...DOCUMENTS, KINDS]) {
        const own = name.replaceAll("-", "_");
        const properties = `invokerPackage=${own}.client,apiPackage=${own}.api,modelPackage=${own}.model`;
        const output = join(folder, "java", own);
        await generate(folder, { language: "java", name, output, properties });
        const made = await readdir(join(output, "src/main/java"), { recursive: true });
        sources.push(
          ...made.filter((path) => path.endsWith(".java")).map((path) => join(output, "src/main/java", path)),
        );
      }
      const classes = join(folder, "classes");
      const compiling = ["-nowarn", "-proc:none", "-cp", join(libraries, "*"), "-d", classes];
      await run("javac", [...compiling, ...sources], { cwd: folder });
      const called = await run("java", ["-cp", `${classes}:${join(libraries, "*")}`, "Caller"], { cwd: folder });
      return [JSON.parse(called) as Found];
    },
    remove,
  };
}
