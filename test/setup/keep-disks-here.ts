// Makes disks in a data folder, as a service does, and waits to be killed.
import { prepareRunDisks } from "../../src/setup/run-disks.ts";
import { runCommand } from "../../src/setup/servers/command.ts";

const owner = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
const size = { cold: 2, lanes: 1, outputBytesMax: 16 * 1024 * 1024, outputFilesMax: 50 };
const disks = await (await prepareRunDisks({ dataDir: process.argv[2] ?? "", owner, size, run: runCommand })).ready;
// One of a program, with scratch folders on disk.
if (disks.problem === undefined) await disks.openScratch(disks.cold[0] ?? "", 16 * 1024 * 1024);
console.log(disks.problem ?? "ready");
setInterval(() => undefined, 60_000);
