// Makes the one file of the package in client/: the command line with all it needs, and nothing of the service.
import { chmod, copyFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "vite";

const checkout = dirname(dirname(fileURLToPath(import.meta.url)));
const outDir = join(checkout, "client/dist");

await build({
  root: checkout,
  configFile: false,
  logLevel: "warn",
  ssr: { noExternal: true },
  build: {
    ssr: "bin/client.mjs",
    outDir,
    emptyOutDir: true,
    target: "node22",
    minify: true,
    rolldownOptions: { output: { entryFileNames: "treadle.mjs", codeSplitting: false, banner: "#!/usr/bin/env node" } },
  },
});
await copyFile(join(checkout, "LICENSE"), join(checkout, "client/LICENSE"));
await chmod(join(outDir, "treadle.mjs"), 0o755);
