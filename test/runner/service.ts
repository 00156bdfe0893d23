import { chmodSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { transformFileSync } from "@swc/core";

const PROJECT = fileURLToPath(new URL("../..", import.meta.url));
const MAIN = `
import { writeFileSync } from "node:fs";
import { createSandbox } from "./sandbox/sandbox.js";
import { openKernelUsers } from "./sandbox/users/kernel-users.js";
const { settings, request, users: given, becomes } = JSON.parse(process.argv[2]);
const giveMap = async (pid) => {
  const owner = becomes ?? settings.runAs;
  for (const name of ["uid", "gid"])
    writeFileSync(\`/proc/\${pid}/\${name}_map\`, \`0 \${owner[name]} 1\\n1 \${given.firstId} \${given.count}\\n\`);
};
const users = given && (await openKernelUsers({ ...given, runAs: becomes ?? settings.runAs, giveMap }));
if (becomes) {
  process.setgroups([becomes.gid]);
  process.setgid(becomes.gid);
  process.setuid(becomes.uid);
  process.umask(0o066);
}
const sandbox = createSandbox({ ...settings, users });
const result = await sandbox.run(request, { onLine: (line) => console.log(JSON.stringify(line)) });
const selfTest = await sandbox.selfTest();
await sandbox.close();
await users?.close();
console.log(JSON.stringify({ result, selfTest }));
`;

/**
 * Translates the sandbox to plain JavaScript in a folder everybody can read, so that it can be run as another user
 * (who may not be able to read the checkout) and be killed without taking the tests along. Answers the program's path.
 */
export function buildService(folder: string): string {
  for (const room of [
    "domain",
    "domain/manifest",
    "sandbox",
    "sandbox/gvisor",
    "sandbox/lanes",
    "sandbox/users",
    "system",
    "system/trees",
  ]) {
    for (const name of readdirSync(join(PROJECT, room)).filter((file) => file.endsWith(".ts"))) {
      const { code } = transformFileSync(join(PROJECT, room, name), {
        jsc: { target: "es2022", parser: { syntax: "typescript" } },
        module: { type: "es6" },
      });
      write(join(folder, room, name.replace(/ts$/, "js")), code.replaceAll(/(from "\.[^"]+)\.ts"/g, '$1.js"'));
    }
  }
  write(join(folder, "package.json"), '{ "type": "module" }');
  write(join(folder, "main.js"), MAIN);
  return join(folder, "main.js");
}

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  chmodSync(path, 0o644);
  for (let parent = dirname(path); parent.includes("treadle-"); parent = dirname(parent)) chmodSync(parent, 0o755);
}
