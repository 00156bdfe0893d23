// Carries out all attacks once more in a process of an ordinary user, who has no cgroups and is nobody special.
import { spawn } from "node:child_process";
import { chmodSync, cpSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { transformSync } from "@swc/core";

const PROJECT = fileURLToPath(new URL("../../..", import.meta.url));
/** What the attacks are made of; the checkout itself may be in a place where that user cannot look. */
const NEEDED = [
  "system/process-exists.ts",
  "system/ignore-missing.ts",
  "system/with-timeout.ts",
  "sandbox",
  "system/trees",
  "domain",
  "runner",
  "src/setup/sandbox-ids.ts",
  "test/runner/folders.ts",
  "test/runner/harness.ts",
  "test/sandbox/lane-runs.ts",
  "test/sandbox/attacks",
];
const MAIN = `
import { ATTACKS } from "./test/sandbox/attacks/attacks.js";
import { openScene } from "./test/sandbox/attacks/scene.js";
import { openField } from "./test/sandbox/attacks/waging.js";
import { waysOf } from "./test/sandbox/attacks/ways.js";

const scene = await openScene(undefined);
const field = openField(scene);
for (const [index, attack] of ATTACKS.entries()) {
  for (const way of waysOf(attack, index)) {
    const loot = await field.wage(attack, way, false).catch((error) => ["it failed: " + error.message]);
    console.log(JSON.stringify({ name: attack.name, way, loot }));
  }
}
await field.close();
await scene.close();
`;

export interface Attempt {
  readonly name: string;
  readonly way: string;
  readonly loot: readonly string[];
}

/** Translates what is needed into `folder`, which everybody must be able to pass, and runs it there. */
export async function attackAs(user: { uid: number; gid: number }, folder: string): Promise<Attempt[]> {
  for (const path of NEEDED) translate(join(PROJECT, path), join(folder, path));
  write(join(folder, "package.json"), '{ "type": "module" }');
  write(join(folder, "main.js"), MAIN);
  const child = spawn(process.execPath, [join(folder, "main.js")], {
    stdio: ["ignore", "pipe", "inherit"],
    cwd: "/",
    env: { PATH: "/usr/bin:/bin", TREADLE_TEST_SANDBOX: process.env["TREADLE_TEST_SANDBOX"] },
    ...user,
  });
  const attempts: Attempt[] = [];
  for await (const line of createInterface({ input: child.stdout })) attempts.push(JSON.parse(line) as Attempt);
  return attempts;
}

function translate(from: string, to: string): void {
  if (statSync(from).isDirectory()) {
    for (const name of readdirSync(from)) if (name !== "__pycache__") translate(join(from, name), join(to, name));
    return;
  }
  if (!from.endsWith(".ts")) {
    mkdirSync(dirname(to), { recursive: true });
    cpSync(from, to);
    return chmodSync(to, 0o644);
  }
  const { code } = transformSync(readFileSync(from, "utf8"), {
    jsc: { target: "es2023", parser: { syntax: "typescript" } },
    module: { type: "es6" },
  });
  write(to.replace(/ts$/, "js"), code.replaceAll(/((?:from|import) "\.[^"]+)\.ts"/g, '$1.js"'));
}

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}
