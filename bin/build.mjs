import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { chmod, copyFile, mkdir, mkdtemp, readdir, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { buildCommand } from "./build-command.mjs";
import { buildWeb } from "./build-web.mjs";
import { withCheckoutLock } from "./checkout-lock.mjs";
import { runToEnd, withProgress } from "./progress.mjs";

/** Beside the folders that `tsconfig.build.json` names, everything that `dist` is made of. */
const PYTHON_ROOM = "runner";
/** Its files are not copied: they become the pages of the editor. */
const WEB_ROOM = "web";
/** The service shows them as pages. */
const DOCS_ROOM = "docs";
const FILES = [
  "package-lock.json",
  "tsconfig.json",
  "tsconfig.build.json",
  "bin/build.mjs",
  "bin/build-command.mjs",
  "bin/build-web.mjs",
];
/** Caches, and the figures of benchmarks: writing them down must not make the build old. */
const NOT_SOURCES = new Set(["__pycache__", "results"]);
const STAMP = ".sources";
const DRAFT_PREFIX = ".build-";
const USUAL = "15 to 30 s";

/**
 * What `dist` is: `current` (made of the sources as they are), `stale`, or `none`. Where no source was touched since the
 * build, sizes and times say so, in a third of the time. Otherwise contents count: a copied tree is what is in it.
 */
export function findBuild(checkout) {
  if (!existsSync(join(checkout, "dist/src"))) return "none";
  if (!existsSync(join(checkout, "src"))) return "current"; // an image that carries the build alone
  const stamp = join(checkout, "dist", STAMP);
  const [contents, times] = existsSync(stamp) ? readFileSync(stamp, "utf8").split("\n") : [];
  const sources = listSources(checkout);
  return times === hashTimes(checkout, sources) || contents === hashContents(checkout, sources) ? "current" : "stale";
}

/** Makes `dist`, in a process of its own: compiler and bundler leave nothing behind in ours. The caller holds the lock. */
export async function buildInChild({ checkout, env, report }) {
  await withProgress({ report, what: "Building", usual: USUAL }, async () => {
    const program = fileURLToPath(import.meta.url);
    const { code, tail } = await runToEnd(process.execPath, [program, "--locked"], { cwd: checkout, env });
    if (code !== 0)
      throw new Error(
        `The build failed:\n${tail.join("\n")}\nCorrect what it says and start again; the build before this one is untouched.`,
      );
  });
}

/** Builds beside `dist` and gives it that name when it is complete: an interrupted or failed build never counts. */
async function build(checkout) {
  for (const name of await readdir(checkout)) {
    if (name.startsWith(DRAFT_PREFIX)) await rm(join(checkout, name), { recursive: true, force: true });
  }
  const draft = await mkdtemp(join(checkout, DRAFT_PREFIX));
  await chmod(draft, 0o755); // a private folder would keep the service from becoming another user
  try {
    await writeFile(join(draft, ".gitignore"), "*\n");
    const sources = listSources(checkout);
    // Times first: what is changed meanwhile has others.
    const times = hashTimes(checkout, sources);
    const contents = hashContents(checkout, sources);
    await compile(checkout, draft);
    await copyOthers(checkout, draft);
    await buildCommand(draft);
    await buildWeb(checkout, draft);
    await bundleWorkflows(draft);
    await writeFile(join(draft, STAMP), `${contents}\n${times}`);
    await replace(join(checkout, "dist"), draft);
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

async function compile(checkout, draft) {
  const compiler = join(checkout, "node_modules/typescript/bin/tsc");
  const args = [compiler, "-p", "tsconfig.build.json", "--outDir", draft];
  const { code, tail } = await runToEnd(process.execPath, args, { cwd: checkout, env: process.env });
  if (code !== 0) throw new Error(tail.join("\n"));
}

/** What the compiler leaves out: SQL, the Python runner, Go's module files, the documents. */
async function copyOthers(checkout, draft) {
  for (const path of listSources(checkout)) {
    if (path.endsWith(".ts") || FILES.includes(path) || path.startsWith(`${WEB_ROOM}/`)) continue;
    await mkdir(dirname(join(draft, path)), { recursive: true });
    await copyFile(join(checkout, path), join(draft, path));
  }
}

/** The workflows as Temporal's worker loads them; made now because it takes seconds, and at every start it would again. */
async function bundleWorkflows(draft) {
  const workflowsPath = join(draft, "workflows/index.js");
  if (!existsSync(workflowsPath)) return;
  const { bundleWorkflowCode, DefaultLogger } = await import("@temporalio/worker");
  const { code } = await bundleWorkflowCode({ workflowsPath, logger: new DefaultLogger("WARN") });
  await writeFile(join(draft, "workflow-bundle.js"), code);
}

async function replace(dist, draft) {
  const old = `${draft}-old`;
  const hadOne = await rename(dist, old).then(
    () => true,
    (error) => {
      if (error.code !== "ENOENT") throw error;
      return false;
    },
  );
  await rename(draft, dist);
  if (hadOne) await rm(old, { recursive: true, force: true });
}

function hashContents(checkout, sources) {
  const hash = createHash("sha256");
  for (const path of sources) hash.update(`\0${path}\0`).update(readFileSync(join(checkout, path)));
  return hash.digest("hex");
}

/** By the time of the last change that the kernel keeps (`ctime`), which no program can set. */
function hashTimes(checkout, sources) {
  const hash = createHash("sha256");
  for (const path of sources) {
    const { size, ctimeMs } = statSync(join(checkout, path));
    hash.update(`\0${path}\0${size}\0${ctimeMs}`);
  }
  return hash.digest("hex");
}

function listSources(checkout) {
  const found = FILES.filter((path) => existsSync(join(checkout, path)));
  const walk = (folder) => {
    if (!existsSync(join(checkout, folder))) return;
    for (const entry of readdirSync(join(checkout, folder), { withFileTypes: true })) {
      if (entry.name.startsWith(".") || NOT_SOURCES.has(entry.name)) continue;
      const path = `${folder}/${entry.name}`;
      if (entry.isDirectory()) walk(path);
      else if (entry.isFile()) found.push(path);
    }
  };
  for (const room of [...readRooms(checkout), PYTHON_ROOM, DOCS_ROOM, WEB_ROOM]) walk(room);
  return found.sort();
}

function readRooms(checkout) {
  return JSON.parse(readFileSync(join(checkout, "tsconfig.build.json"), "utf8")).include;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const checkout = dirname(dirname(fileURLToPath(import.meta.url)));
  const report = (line) => process.stderr.write(`${line}\n`);
  try {
    if (process.argv.includes("--locked")) await build(checkout);
    else await withCheckoutLock({ checkout, report }, () => build(checkout));
  } catch (error) {
    report(error.message);
    process.exitCode = 1;
  }
}
