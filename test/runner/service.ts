import { join } from "node:path";
import { writeForAll, writePlainModules } from "../support/plain-modules.ts";

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
 * Writes the sandbox as plain JavaScript to a folder that everybody can read, and a program that runs one request. Another
 * user can run it, and it can be killed without ending the tests. Returns the program's path.
 */
export function buildService(folder: string): string {
  writePlainModules(folder, ["sandbox/sandbox.ts", "sandbox/users/kernel-users.ts"]);
  writeForAll(join(folder, "main.js"), MAIN);
  return join(folder, "main.js");
}
