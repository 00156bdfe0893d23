import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { runToEnd, withProgress } from "./progress.mjs";

const STAMP = "node_modules/.treadle-packages";
const SECTIONS = ["dependencies", "devDependencies", "optionalDependencies"];
const USUAL = "20 to 60 s";
const OFFLINE = /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|network/i;
const SHOWN_LINES_MAX = 25;

/**
 * Which of the packages in `package-lock.json` are installed: `all`, `production` (only those needed to run a finished
 * build), or `none` (something is missing or of another version). Packages that somebody installed with npm count.
 */
export async function findPackages(checkout) {
  const [lockText, manifestText] = await Promise.all(
    ["package-lock.json", "package.json"].map((name) => readText(join(checkout, name))),
  );
  const expected = stampOf(lockText, manifestText);
  if ((await readText(join(checkout, STAMP)))?.trim() === expected) return "all";
  const installedText = await readText(join(checkout, "node_modules/.package-lock.json"));
  if (installedText === undefined || lockText === undefined) return "none";
  const found = compare(JSON.parse(lockText), JSON.parse(installedText), JSON.parse(manifestText));
  if (found === "all") await writeFile(join(checkout, STAMP), `${expected}\n`).catch(ignoreReadOnly);
  return found;
}

/** Installs exactly what the lock file says. Needs nothing but npm; works with `ignore-scripts` too. */
export async function installPackages({ checkout, env, report }) {
  await withProgress({ report, what: "Installing packages with npm ci", usual: USUAL }, async () => {
    const [command, ...before] = findNpm(env);
    const args = ["ci", "--include=dev", "--include=optional", "--no-audit", "--no-fund", "--no-progress"];
    const { code, tail } = await runToEnd(command, [...before, ...args], { cwd: checkout, env });
    if (code !== 0) throw new Error(explainFailure(code, tail));
  });
  const [lockText, manifestText] = await Promise.all(
    ["package-lock.json", "package.json"].map((name) => readText(join(checkout, name))),
  );
  await writeFile(join(checkout, STAMP), `${stampOf(lockText, manifestText)}\n`);
}

/** The npm that started us, else the one on PATH. */
function findNpm(env) {
  const { npm_execpath: path } = env;
  return path !== undefined && basename(path) === "npm-cli.js" ? [process.execPath, path] : ["npm"];
}

function explainFailure(code, tail) {
  const errors = tail.filter((line) => /npm (error|ERR!)\s*\S/.test(line));
  // npm says what is wrong first, and may follow it with how it is used.
  const usage = errors.findIndex((line) => /Clean install a project/.test(line));
  const lines =
    errors.length === 0 ? tail.slice(-SHOWN_LINES_MAX) : errors.slice(0, usage === -1 ? SHOWN_LINES_MAX : usage);
  const shown = lines.join("\n");
  if (code === 127)
    return `npm could not be started: ${shown}\nInstall npm (it comes with Node.js), or put it on the PATH, and start again.`;
  const advice = OFFLINE.test(shown)
    ? "npm did not reach its registry. Connect this machine, or tell npm its proxy or mirror (npm config set proxy …, npm config set registry …), and start again."
    : "Repair what npm says above and start again; nothing half-installed will be used.";
  return `npm ci failed:\n${shown}\n${advice}`;
}

/** Changes when other packages would be installed: not when only a script in package.json changes. */
function stampOf(lockText, manifestText) {
  const manifest = JSON.parse(manifestText);
  const sections = SECTIONS.map((section) => manifest[section] ?? {});
  const parts = [lockText ?? "", JSON.stringify(sections), process.platform, process.arch];
  return createHash("sha256").update(parts.join("\0")).digest("hex");
}

function compare(lock, installed, manifest) {
  const root = lock.packages?.[""] ?? {};
  const isSame = (section) => JSON.stringify(sorted(root[section])) === JSON.stringify(sorted(manifest[section]));
  if (!SECTIONS.every(isSame)) return "none";
  let found = "all";
  for (const [path, entry] of Object.entries(lock.packages ?? {})) {
    const there = installed.packages?.[path];
    if (path === "" || (there !== undefined && there.version === entry.version)) continue;
    if (there !== undefined) return "none";
    if (entry.optional || entry.peer) continue;
    if (!entry.dev && !entry.devOptional) return "none";
    found = "production";
  }
  return found;
}

function sorted(section) {
  return Object.entries(section ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));
}

function readText(path) {
  return readFile(path, "utf8").catch((error) => {
    if (error.code !== "ENOENT" && error.code !== "ENOTDIR") throw error;
    return undefined;
  });
}

function ignoreReadOnly(error) {
  if (!["EROFS", "EACCES", "EPERM"].includes(error.code)) throw error;
}
