import { text } from "node:stream/consumers";
import { runCommand } from "../src/setup/servers/command.ts";
import { startPostgres } from "../src/setup/servers/postgres.ts";
import { startTemporal } from "../src/setup/servers/temporal.ts";
import { findCacheDir } from "../src/setup/servers/temporal-cache.ts";
import { prepareServiceUser } from "../src/setup/user.ts";
import { startS3Server } from "./s3-server.ts";

/**
 * What the processes of one installation share: PostgreSQL, Temporal and an S3 server, with their data below the folder named
 * on the command line. Prints one line of JSON, `SharedServers`, when they are up, and stops them when its input ends.
 */
export interface SharedServers {
  /** The folder of its socket, and whom it takes for its owner. */
  readonly postgres: { readonly host: string; readonly user: string; readonly database: string };
  readonly temporal: string;
  readonly s3: {
    readonly endpoint: string;
    readonly region: string;
    readonly bucket: string;
    readonly accessKeyId: string;
    readonly secretAccessKey: string;
  };
}

const [, , dataDir] = process.argv;
if (dataDir === undefined) throw new Error("Name the folder for the servers' data.");
const report = (line: string): void => void process.stderr.write(`${line}\n`);
const runAs = await prepareServiceUser({ isRoot: process.getuid?.() === 0, report, run: runCommand });
const settings = { env: process.env, dataDir, runAs, report, log: () => undefined };
const [postgres, temporal, { stop, ...s3 }] = await Promise.all([
  startPostgres(settings),
  startTemporal({ ...settings, cacheDir: findCacheDir(process.env) }),
  startS3Server(),
]);
const servers = { postgres: postgres.connection, temporal: temporal.address, s3 };
process.stdout.write(`${JSON.stringify(servers)}\n`);
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => undefined); // Sent to all of a terminal.
await text(process.stdin);
await Promise.all([temporal.stop(), postgres.stop(), stop()]);
