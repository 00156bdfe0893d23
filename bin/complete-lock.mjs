import { readFileSync, writeFileSync } from "node:fs";

/**
 * Adds to package-lock.json the optional packages of other platforms that npm left out, as it does when the registry at
 * hand does not carry them. `npm ci` compares the names and refuses a lock without them, on every platform; it never
 * fetches those whose `os` or `cpu` is not ours. Run it after each `npm install`: `node bin/complete-lock.mjs`.
 */
const SYSTEMS = {
  android: "android",
  darwin: "darwin",
  freebsd: "freebsd",
  linux: "linux",
  openharmony: "openharmony",
  win32: "win32",
};
const PROCESSORS = ["arm", "arm64", "ia32", "loong64", "ppc64", "riscv64", "s390x", "x64"];
const LIBRARIES = { gnu: "glibc", musl: "musl" };

const FILE = new URL("../package-lock.json", import.meta.url);
const lock = JSON.parse(readFileSync(FILE, "utf8"));

/** Node's own look-up: beside the package, then beside each package it is nested in. */
function isLocked(from, name) {
  for (let at = from; ; at = at.slice(0, Math.max(0, at.lastIndexOf("/node_modules/")))) {
    if (lock.packages[`${at}${at ? "/" : ""}node_modules/${name}`]) return true;
    if (at === "") return false;
  }
}

/** What the package says of itself in its name: `binding-linux-arm64-musl`. */
function describe(name, range, { dev }) {
  const words = name.split("/").at(-1).split("-");
  const os = words.map((word) => SYSTEMS[word]).find(Boolean);
  const cpu = name.includes("wasm") ? "wasm32" : words.find((word) => PROCESSORS.includes(word));
  const libc = words.map((word) => LIBRARIES[word]).find(Boolean);
  if (os === undefined && cpu === undefined)
    throw new Error(`${name} does not say which platform it is for; lock it by hand.`);
  return {
    version: range.replace(/^[\^~]/, ""),
    ...(cpu ? { cpu: [cpu] } : {}),
    ...(dev ? { dev: true } : {}),
    optional: true,
    ...(os ? { os: [os] } : {}),
    ...(libc ? { libc: [libc] } : {}),
  };
}

let added = 0;
for (const [path, entry] of Object.entries(lock.packages)) {
  for (const [name, range] of Object.entries(entry.optionalDependencies ?? {})) {
    if (isLocked(path, name)) continue;
    lock.packages[`node_modules/${name}`] = describe(name, range, entry);
    added += 1;
  }
}
const { "": root, ...others } = lock.packages;
const sorted = Object.entries(others).sort(([one], [other]) => (one < other ? -1 : 1));
lock.packages = { "": root, ...Object.fromEntries(sorted) };
writeFileSync(FILE, `${JSON.stringify(lock, null, 2)}\n`);
process.stdout.write(`${added} packages of other platforms were added.\n`);
