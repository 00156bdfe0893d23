// A service in small: starts both servers, tells their pids, and waits to be killed, or for a line to stop. Its one
// argument is JSON. `become` turns this process into an ordinary user's before it starts anything.
import { once } from "node:events";
import { startPostgres } from "../../../src/setup/servers/postgres.ts";
import { startTemporal } from "../../../src/setup/servers/temporal.ts";
import { loadTemporalClient } from "../../../src/setup/servers/temporal-namespace.ts";

interface How {
  readonly dataDir: string;
  readonly cacheDir: string;
  readonly runAs?: { uid: number; gid: number };
  readonly become?: { uid: number; gid: number };
  readonly native?: string;
  readonly cli?: string;
}

const { dataDir, cacheDir, runAs, become, native, cli } = JSON.parse(process.argv[2] ?? "{}") as How;
if (become !== undefined) {
  // That user may not see the checkout any more.
  await loadTemporalClient();
  process.setgroups?.([become.gid]);
  process.setgid?.(become.gid);
  process.setuid?.(become.uid);
}
const env = {
  ...process.env,
  TEMPORAL_ADDRESS: undefined,
  ...(cli === undefined ? {} : { TEMPORAL_CLI_PATH: cli }),
};
const options = { env, dataDir, runAs, report: () => {}, log: () => {} };
const embedded = native === undefined ? {} : { findEmbedded: async () => ({ native, version: "18.0.0", major: 18 }) };
const [postgres, temporal] = await Promise.all([
  startPostgres({ ...options, ...embedded }),
  startTemporal({ ...options, cacheDir }),
]);
const { host: socket } = postgres.connection as { host: string };
console.log(JSON.stringify({ postgres: postgres.pid(), temporal: temporal.pid(), socket }));
await once(process.stdin, "data");
const startedAt = Date.now();
await Promise.all([temporal.stop(), postgres.stop()]);
console.log(JSON.stringify({ stoppedMs: Date.now() - startedAt }));
process.exit(0);
