import { copyFile, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { writeFetchProgram } from "./fetch-program.ts";
import { DOCUMENTS, type Found, type Generator, run, type Site } from "./generator.ts";
import { writeSdkProgram } from "./sdk-program.ts";

const HERE = fileURLToPath(new URL(".", import.meta.url));
const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const COMPILER = {
  target: "es2023",
  lib: ["es2023", "dom", "dom.iterable"],
  module: "esnext",
  moduleResolution: "bundler",
  types: ["node"],
  typeRoots: [join(ROOT, "node_modules/@types")],
  strict: true,
  skipLibCheck: true,
  noEmit: true,
};
/** Both in one process: a start of either takes as long as what it does. */
const GENERATE = `
import { readFile, writeFile } from "node:fs/promises";
import { createClient } from "@hey-api/openapi-ts";
import openapiTypeScript, { astToString } from "openapi-typescript";

for (const name of ${JSON.stringify(DOCUMENTS)}) {
  const logs = { level: "silent", file: false };
  await createClient({ input: \`\${name}.json\`, output: \`sdk/\${name}\`, plugins: ["@hey-api/client-fetch", "@hey-api/sdk", "@hey-api/typescript"], logs });
  const document = JSON.parse(await readFile(\`\${name}.json\`, "utf8"));
  await writeFile(\`types-\${name}.ts\`, astToString(await openapiTypeScript(document, { defaultNonNullable: false })));
}
`;
const MAIN = `
import { call as callBySdk } from "./sdk-program";
import { call as callByTypes } from "./fetch-program";
console.log(JSON.stringify([await callBySdk(), await callByTypes()]));
`;

/**
 * `@hey-api/openapi-ts`, and openapi-typescript, by whose types openapi-fetch calls. Both from one pinned list, by npm into a folder of their
 * own: they need another compiler than we do.
 */
export async function installTypeScriptClients(): Promise<Generator> {
  const dir = await mkdtemp(join(tmpdir(), "treadle-generators-"));
  for (const file of ["package.json", "package-lock.json"]) await copyFile(join(HERE, file), join(dir, file));
  await run("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund"], { cwd: dir });
  return {
    async use(folder, site) {
      await symlink(join(dir, "node_modules"), join(folder, "node_modules"));
      const files = {
        "generate.mjs": GENERATE,
        "sdk-program.ts": writeSdkProgram(),
        "fetch-program.ts": writeFetchProgram(site),
        "main.ts": MAIN,
      };
      for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
      await run(process.execPath, ["generate.mjs"], { cwd: folder });
      return compileAndRun(folder, site);
    },
    remove: () => rm(dir, { recursive: true, force: true }),
  };
}

/** Compiles all of a folder, whether its program `main.ts` uses it or not, and runs the program. */
export async function compileAndRun(folder: string, { caFile }: Site): Promise<Found[]> {
  const settings = { compilerOptions: COMPILER, include: ["**/*.ts"] };
  await writeFile(join(folder, "tsconfig.json"), JSON.stringify(settings));
  await writeFile(join(folder, "package.json"), '{ "type": "module" }');
  await run(join(ROOT, "node_modules/.bin/tsc"), ["-p", "."], { cwd: folder });
  const bundle = ["build", "--ssr", "main.ts", "--outDir", "built", "--logLevel", "error"];
  await run(join(ROOT, "node_modules/.bin/vite"), bundle, { cwd: folder });
  const env = { NODE_EXTRA_CA_CERTS: caFile };
  return JSON.parse(await run(process.execPath, ["built/main.js"], { cwd: folder, env })) as Found[];
}
