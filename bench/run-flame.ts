import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { freePort } from "../src/setup/servers/free-port.ts";
import { drawFlames, recordFlames, sumByFile } from "./flame.ts";
import { makeDataDir, removeDataDir, startService } from "./service.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const PROGRAM = fileURLToPath(new URL("./engine-program.js", import.meta.url));
const SECONDS = 20;
const FILES_SHOWN = 40;

/** `npm run bench -- --flame`: where the main thread of the service spends the time of `hello`, with eight callers. */
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const dataDir = await makeDataDir();
const port = await freePort("127.0.0.1");
const service = await startService({ dataDir, program: [`--inspect=127.0.0.1:${port}`, PROGRAM, "whole"] });
const { flames, calls } = await recordFlames({ port, seconds: SECONDS, root: ROOT }, () =>
  service.execute("hello", { name: "Ada" }),
);
await service.stop();
await removeDataDir(dataDir);

const toMs = (us: number): string => (us / 1000 / calls).toFixed(3).padStart(7);
say(
  `${toMs(flames.total)} ms of the main thread a call; ${(calls / SECONDS).toFixed(1)} calls a second. By itself, ms:`,
);
const byFile = sumByFile(flames, ({ name, file }) => (file === "" ? name : file.replace(/:\d+$/, "")));
for (const [name, us] of byFile.slice(0, FILES_SHOWN)) say(`${toMs(us)}  ${name}`);

await mkdir(join(ROOT, "bench/results"), { recursive: true });
const path = join(ROOT, "bench/results", "flame.svg");
await writeFile(path, drawFlames(flames, calls));
say(`Drawn in ${path.slice(ROOT.length)}: open it in a browser; a box says what it is under the pointer.`);
