import { existsSync } from "node:fs";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { brotliCompress, gzip, constants as zlib } from "node:zlib";

const ROOM = "web";
/** What compression makes smaller. Pictures and fonts are compressed already. */
const COMPRESSIBLE = /\.(js|css|svg)$/;
/** Below this a smaller file saves nothing. A page has twenty of a few hundred bytes. */
const COMPRESSED_BYTES_MIN = 300;

/** Which modules each page consists of besides the first, by its address; `web/src/app/router.tsx` loads them when they are wanted. */
const PAGES_FILE = "pages.json";
/** Written for `src/http/web/part-links.ts`. */
const LINKS_FILE = "links.json";
/** `web/src/app/fonts.css` has them. */
const FONTS = ["@fontsource-variable/geist", "@fontsource-variable/geist-mono"];
const FIRST_PART = "index.html";
const PARTS_FILE = "parts.json";

/**
 * Makes the pages of the editor in the folder `web` of a build: one page, and its parts with a hash of their content in
 * their names, each compressed once here instead of at every call. Nothing to do in a checkout without that room.
 */
export async function buildWeb(checkout, draft) {
  const root = join(checkout, ROOM);
  if (!existsSync(join(root, "index.html"))) return;
  const outDir = join(draft, ROOM);
  await asProduction(async () => {
    // Vite looks at it when it is loaded, too.
    const { build } = await import("vite");
    await build(toOptions(root, outDir));
  });
  await Promise.all([compress(join(outDir, "assets")), linkParts(root, outDir), writeFontLicences(checkout, outDir)]);
}

/** The licence of the fonts asks for its text beside every copy of them. */
async function writeFontLicences(checkout, outDir) {
  const texts = FONTS.map((name) => readFile(join(checkout, "node_modules", name, "LICENSE"), "utf8"));
  await writeFile(join(outDir, "fonts-licence.txt"), (await Promise.all(texts)).join("\n\n"));
}

/** Writes, for each page, links to the parts that the first one does not name. */
async function linkParts(root, outDir) {
  const [pages, parts] = await Promise.all(
    [join(root, PAGES_FILE), join(outDir, PARTS_FILE)].map(async (path) => JSON.parse(await readFile(path, "utf8"))),
  );
  const first = new Set(listFiles(parts, [FIRST_PART]));
  const links = Object.entries(pages).map(([address, names]) => {
    const files = listFiles(parts, names).filter((file) => !first.has(file));
    return [address, files.map(toLink).join("")];
  });
  await writeFile(join(outDir, LINKS_FILE), `${JSON.stringify(Object.fromEntries(links))}\n`);
}

/** The files of these modules and of all that they import, styles among them, each once. */
function listFiles(parts, names) {
  const seen = new Set();
  const walk = (name) => {
    if (seen.has(name)) return;
    seen.add(name);
    const part = parts[name];
    if (part === undefined) throw new Error(`${PAGES_FILE} names ${name}, which is no part that pages load by itself.`);
    for (const other of part.imports ?? []) walk(other);
  };
  for (const name of names) walk(name);
  return [...new Set([...seen].flatMap((name) => [...(parts[name].css ?? []), parts[name].file]))];
}

/** As Vite writes them for the first part. */
function toLink(file) {
  const rel = file.endsWith(".css") ? "stylesheet" : "modulepreload";
  return `<link rel="${rel}" crossorigin href="/${file}">`;
}

/** Whatever the environment says: with NODE_ENV=test React would be the one for developers, which is large and slow. */
async function asProduction(act) {
  const before = process.env.NODE_ENV;
  process.env.NODE_ENV = "production";
  try {
    await act();
  } finally {
    if (before === undefined) delete process.env.NODE_ENV;
    else process.env.NODE_ENV = before;
  }
}

function toOptions(root, outDir) {
  return {
    root,
    configFile: false,
    envDir: false,
    logLevel: "warn",
    build: {
      outDir,
      emptyOutDir: true,
      target: "es2023",
      // The policy of the pages allows no data: addresses.
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
      reportCompressedSize: false,
      chunkSizeWarningLimit: 1_000,
      manifest: PARTS_FILE,
      rolldownOptions: {
        // In one piece: each of ten would be a request of its own before anything is shown.
        output: { codeSplitting: { groups: [{ name: "first", tags: ["$initial"] }] } },
        // Libraries mark their modules for frameworks that also render on the server: 500 warnings about nothing.
        onLog: (level, log, handle) => log.code === "MODULE_LEVEL_DIRECTIVE" || handle(level, log),
      },
    },
  };
}

async function compress(folder) {
  for (const name of await readdir(folder)) {
    if (!COMPRESSIBLE.test(name)) continue;
    const content = await readFile(join(folder, name));
    if (content.length < COMPRESSED_BYTES_MIN) continue;
    const [small, smaller] = await Promise.all([
      promisify(gzip)(content, { level: 9 }),
      promisify(brotliCompress)(content, {
        params: { [zlib.BROTLI_PARAM_QUALITY]: 10, [zlib.BROTLI_PARAM_SIZE_HINT]: content.length },
      }),
    ]);
    await Promise.all([writeFile(join(folder, `${name}.gz`), small), writeFile(join(folder, `${name}.br`), smaller)]);
  }
}

/** By itself, into the build that is there: for whoever works on the pages and reloads them in a running service. */
if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const checkout = dirname(dirname(fileURLToPath(import.meta.url)));
  await buildWeb(checkout, join(checkout, "dist"));
}
