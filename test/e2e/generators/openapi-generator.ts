import { readFileSync } from "node:fs";
import { copyFile, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { run } from "./generator.ts";

const POM = fileURLToPath(new URL("./java/pom.xml", import.meta.url));
const VERSION = /openapi-generator (\S+) /.exec(readFileSync(POM, "utf8"))?.[1];

export interface OpenApiGenerator {
  /** The folder of what its Java clients stand on. */
  readonly libraries: string;
  /** Makes a client in the folder `output` of the document `NAME.json`. Properties are those of the language. */
  generate(
    folder: string,
    client: { language: string; name: string; output: string; properties?: string },
  ): Promise<void>;
  remove(): Promise<void>;
}

/** openapi-generator and what its Java clients stand on, by Maven into a folder of their own. */
export async function installOpenApiGenerator(): Promise<OpenApiGenerator> {
  const dir = await mkdtemp(join(tmpdir(), "treadle-openapi-generator-"));
  await copyFile(POM, join(dir, "pom.xml"));
  const artifact = `-Dartifact=org.openapitools:openapi-generator-cli:${VERSION}`;
  const libraries = join(dir, "libraries");
  await run("mvn", ["-q", "-B", "dependency:copy-dependencies", `-DoutputDirectory=${libraries}`], { cwd: dir });
  await run("mvn", ["-q", "-B", "dependency:copy", artifact, `-DoutputDirectory=${dir}`], { cwd: dir });
  return {
    libraries,
    async generate(folder, { language, name, output, properties = "" }) {
      const jar = join(dir, `openapi-generator-cli-${VERSION}.jar`);
      const args = ["-jar", jar, "generate", "-g", language, "-i", `${name}.json`, "-o", output];
      await run("java", [...args, `--additional-properties=${properties}`], { cwd: folder });
    },
    remove: () => rm(dir, { recursive: true, force: true }),
  };
}
