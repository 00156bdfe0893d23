import { existsSync } from "node:fs";
import { join, relative } from "node:path";

const FOLDER = "command";
/** What `bin/command.mjs` imports, and by that name. */
const PARTS = [
  "backup/installation",
  "backup/restore",
  "backup/rotation",
  "cli/main",
  "cli/process-io",
  "config",
  "setup/machine",
  "start/inspection",
  "start/lifecycle",
  "start/migration",
  "start/start",
  "trial/speed",
];

/**
 * Packages of many files that commands load: with them in few files, a command took a fifth less of processor time. They load
 * nothing by a path, and nothing else that we load uses them.
 */
const BUNDLED = ["commander", "diff", "undici", "yaml", "zod"];

/**
 * Makes, in the folder `command` of a build, 50 files of the 800 modules that `bin/command.mjs` loads: to find and link
 * them one by one took 0.3 s of every start. Other packages stay where they are. Each module keeps the address of its own file
 * in the build, by which it finds what lies beside it, and by which threads load it.
 */
export async function buildCommand(draft) {
  const root = join(draft, "src");
  if (!existsSync(join(root, "cli/main.js"))) return;
  const { build } = await import("vite");
  const outDir = join(draft, FOLDER);
  await build({
    root,
    configFile: false,
    envDir: false,
    publicDir: false,
    ssr: { noExternal: BUNDLED },
    logLevel: "warn",
    plugins: [keepAddresses(outDir)],
    build: {
      ssr: true,
      outDir,
      emptyOutDir: true,
      target: "node20",
      reportCompressedSize: false,
      rolldownOptions: {
        input: Object.fromEntries(PARTS.map((part) => [nameOf(part), join(root, `${part}.js`)])),
        // Threads call functions by their names.
        output: { keepNames: true, entryFileNames: "[name].js", chunkFileNames: "[name]-[hash].js" },
      },
    },
  });
}

function nameOf(part) {
  return part.slice(part.indexOf("/") + 1);
}

function keepAddresses(outDir) {
  return {
    name: "keep-addresses",
    transform(code, id) {
      if (!code.includes("import.meta.url")) return;
      const address = `new URL(${JSON.stringify(relative(outDir, id))}, import.meta.url).href`;
      return { code: code.replaceAll("import.meta.url", address), map: null };
    },
  };
}
