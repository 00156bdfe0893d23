import { spawn } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { aFolder } from "./servers/surroundings.ts";

const BIN = fileURLToPath(new URL("../../bin", import.meta.url));

/** A compiler that copies: every `src/x.ts` becomes `src/x.js` in the folder it is told. Fails when a source says so. */
const COMPILER = `
const fs = require("node:fs"), path = require("node:path");
const out = process.argv[process.argv.indexOf("--outDir") + 1];
fs.appendFileSync("calls", "tsc\\n");
fs.mkdirSync(path.join(out, "src"), { recursive: true });
for (const name of fs.readdirSync("src")) {
  const text = fs.readFileSync(path.join("src", name), "utf8");
  if (text.includes("WRONG")) { console.log("src/" + name + "(1,1): error TS1: wrong"); process.exit(2); }
  if (name.endsWith(".ts")) fs.writeFileSync(path.join(out, "src", name.replace(/ts$/, "js")), text);
}
`;

/** An npm that installs what the lock file says, into nothing but the list of what is installed, and that compiler. */
const NPM = `
const fs = require("node:fs"), path = require("node:path");
fs.appendFileSync("calls", "npm " + process.argv.slice(2).join(" ") + "\\n");
if (fs.existsSync("offline")) { console.error("npm error code ENOTFOUND\\nnpm error request to the registry failed"); process.exit(1); }
fs.rmSync("node_modules", { recursive: true, force: true });
const lock = JSON.parse(fs.readFileSync("package-lock.json", "utf8"));
fs.mkdirSync("node_modules/typescript/bin", { recursive: true });
fs.copyFileSync("compiler.js", "node_modules/typescript/bin/tsc");
fs.writeFileSync("node_modules/.package-lock.json", JSON.stringify({ packages: lock.packages }));
`;

export interface FakeCheckout {
  readonly path: string;
  /** What was called: `npm ci …`, `tsc`. */
  calls(): string[];
  write(path: string, content: string | object): void;
  read(path: string): string;
  /** Runs a module of JavaScript in a process of its own, in this checkout; as another user when `uid` says so. */
  run(code: string, options?: { uid?: number; args?: readonly string[] }): Promise<Finished>;
  /** Brings the checkout up to date, as every command begins. */
  prepare(options?: { development?: boolean; uid?: number }): Promise<Finished>;
}

export interface Finished {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A checkout with our `bin`, small sources, and an npm and a compiler that write down how they are called. */
export function aCheckout(): FakeCheckout {
  const path = aFolder();
  cpSync(BIN, join(path, "bin"), { recursive: true });
  const write = (name: string, content: string | object) => {
    mkdirSync(dirname(join(path, name)), { recursive: true });
    writeFileSync(join(path, name), typeof content === "string" ? content : JSON.stringify(content));
  };
  write("package.json", { type: "module", dependencies: { pg: "8.0.0" }, devDependencies: { typescript: "7.0.2" } });
  write("package-lock.json", aLock());
  write("tools/npm-cli.js", NPM);
  write("tools/package.json", {});
  write("compiler.js", COMPILER);
  write("tsconfig.build.json", { include: ["db", "src"] });
  write("src/start.ts", "export const started = 1;\n");
  write("db/migrations/0001.sql", "select 1;\n");
  const run: FakeCheckout["run"] = (code, options = {}) =>
    finish(["--input-type=module", "-e", code], { cwd: path, uid: options.uid, npm: join(path, "tools/npm-cli.js") });
  return {
    path,
    write,
    run,
    calls: () => (existsSync(join(path, "calls")) ? readFileSync(join(path, "calls"), "utf8").trim().split("\n") : []),
    read: (name) => readFileSync(join(path, name), "utf8"),
    prepare: ({ development = false, uid } = {}) =>
      run(prepareCode(path, development), uid === undefined ? {} : { uid }),
  };
}

function prepareCode(path: string, development: boolean): string {
  return `
    const { prepareCheckout } = await import(${JSON.stringify(join(path, "bin/setup.mjs"))});
    const report = (line) => console.log(line);
    await prepareCheckout({ checkout: ${JSON.stringify(path)}, env: process.env, report, development: ${development} })
      .catch((error) => { console.error(error.message); process.exitCode = 1; });
  `;
}

/** Runs `node` with these arguments to its end. */
export function finish(
  args: readonly string[],
  options: { cwd: string; npm?: string; uid?: number | undefined; env?: Record<string, string> },
): Promise<Finished> {
  const { uid, cwd } = options;
  const env = { ...process.env, NODE_OPTIONS: "", npm_execpath: options.npm, ...options.env };
  return new Promise((resolve) => {
    const child = spawn(process.execPath, args, {
      cwd,
      env,
      stdio: ["ignore", "pipe", "pipe"],
      ...(uid === undefined ? {} : { uid }),
    });
    const said = { stdout: "", stderr: "" };
    for (const name of ["stdout", "stderr"] as const) child[name].on("data", (chunk) => (said[name] += String(chunk)));
    child.on("close", (code) => resolve({ code, ...said }));
  });
}

/** `package-lock.json`; `pgVersion` is what changes when somebody updates a package. */
export function aLock(pgVersion = "8.0.0"): object {
  return {
    packages: {
      "": { dependencies: { pg: "8.0.0" }, devDependencies: { typescript: "7.0.2" } },
      "node_modules/pg": { version: pgVersion },
      "node_modules/typescript": { version: "7.0.2", dev: true },
      "node_modules/fsevents": { version: "2.3.3", optional: true, os: ["darwin"] },
    },
  };
}
