// Prepares the machine in a process of its own, as `bin/treadle start` does, and tells what came of it. Its one argument
// is JSON. `become` turns this process into an ordinary user's first.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { findCgroupFolders } from "../../sandbox/cgroup-folders.ts";
import { loadSettings } from "../../src/config.ts";
import { prepareMachine } from "../../src/setup/machine.ts";

interface How {
  readonly checkout: string;
  readonly env: Record<string, string>;
  readonly become?: { uid: number; gid: number };
}

const { checkout, env, become } = JSON.parse(process.argv[2] ?? "{}") as How;
if (become !== undefined) {
  process.setgroups?.([become.gid]);
  process.setgid?.(become.gid);
  process.setuid?.(become.uid);
}
const reports: string[] = [];
try {
  const machine = await prepareMachine({
    env,
    settings: loadSettings(env),
    checkout,
    report: (line) => reports.push(line),
  });
  const { release: _release, packageSettings: _settings, certificate, ...rest } = machine;
  const keyReadable = readFileSync(join(machine.paths.tls, "key.pem"), "utf8") === certificate.keyPem;
  console.log(
    JSON.stringify({
      ...rest,
      caFile: certificate.caFile,
      keyReadable,
      reports,
      cgroups: findCgroupFolders(),
      uid: process.getuid?.(),
    }),
  );
  await machine.release();
} catch (error) {
  console.log(JSON.stringify({ reports, refused: (error as Error).message }));
}
