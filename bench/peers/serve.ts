import { createRequire } from "node:module";
import { join } from "node:path";
import { runCommand } from "../../src/setup/servers/command.ts";
import { startPostgres } from "../../src/setup/servers/postgres.ts";
import { prepareServiceUser } from "../../src/setup/user.ts";
import type { Setting } from "./peer.ts";
import type { ServedPeer } from "./served.ts";

/** The process of one peer: `node serve.js <adapter> <setting>`. It ends with its parent. */
const [file = "", text = "{}"] = process.argv.slice(2);
const setting = JSON.parse(text) as Setting;
const { peer } = (await import(`./adapters/${file}.js`)) as { peer: ServedPeer };
const report = (line: string): void => void process.stderr.write(`${line}\n`);

const giveUp = (): never => process.exit(1);
process.on("disconnect", giveUp);
const user = await prepareServiceUser({ isRoot: process.getuid?.() === 0, report, run: runCommand });
const postgres = peer.database
  ? await startPostgres({ env: process.env, dataDir: setting.dataDir, runAs: user, report: () => {}, log: () => {} })
  : undefined;
const load = createRequire(join(setting.folder, "package.json"));
const serving = await peer.serve({ setting, load, database: postgres?.connection });

let stopping: Promise<void> | undefined;
const stop = async (): Promise<void> => {
  await serving.stop();
  await postgres?.stop();
  process.exit(0);
};
process.on("message", () => void (stopping ??= stop()));
process.off("disconnect", giveUp).on("disconnect", () => void (stopping ??= stop()));
process.send?.({ url: serving.url });
