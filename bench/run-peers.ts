import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { availableParallelism, totalmem } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { findCacheDir } from "../src/setup/servers/temporal-cache.ts";
import { meterStart, openCpuMeter } from "./cpu-meter.ts";
import { toFigure } from "./figures.ts";
import { peer as bare } from "./peers/adapters/bare.ts";
import { type FileRates, measureFiles } from "./peers/files.ts";
import { grow, soak } from "./peers/long-loads.ts";
import { install, type Peer } from "./peers/peer.ts";
import { mergePeers, type Results, writeReport } from "./peers/report.ts";
import { LOADS, measureSlice, type Slice } from "./peers/slices.ts";
import { findCapacity } from "./peers/summary.ts";
import { makeDataDir, removeDataDir } from "./service.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const ADAPTERS = fileURLToPath(new URL("./peers/adapters", import.meta.url));
const INTERPRETER = process.env.TREADLE_PYTHON ?? "/usr/bin/python3";
/** As in `programs/pandas/main.py`. */
const PANDAS = "pandas==2.3.3";
const SHORT = { rounds: "2", seconds: "4", loads: "hello,pandas,fib10,hello8" };
const LONG = { rounds: "5", seconds: "20", loads: Object.keys(LOADS).join(",") };

const { values } = parseArgs({
  options: {
    peers: { type: "string" },
    loads: { type: "string" },
    rounds: { type: "string" },
    seconds: { type: "string" },
    long: { type: "boolean", default: false },
    /** Results of before, to which these are added. */
    add: { type: "string" },
    /** Finished executions beside which hello is measured, as `0,10000,1000000`. */
    growth: { type: "string", default: "" },
    /** The same with other workflows, as `0,1000,10000`. */
    workflows: { type: "string", default: "" },
    /** Minutes at half of each peer's own rate. */
    soak: { type: "string", default: "0" },
    /** Size of a file to upload and to leave as an output, in MiB. */
    files: { type: "string", default: "0" },
  },
});
const form = values.long ? LONG : SHORT;
const [rounds, seconds] = [Number(values.rounds ?? form.rounds), Number(values.seconds ?? form.seconds)];
const wantedLoads = (values.loads ?? form.loads).split(",").filter(Boolean);
const cache = join(findCacheDir(process.env), "bench-peers");
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const readSuiteMs = openCpuMeter();

interface Ready {
  readonly peer: Peer;
  readonly folder: string;
  /** Of this run. */
  readonly dataDir: string;
}

/** Installs into a folder of the cache, once. A folder without the mark was left half-made, and is made again. */
async function installOnce(name: string, make: (folder: string) => Promise<void>): Promise<string> {
  const folder = join(cache, name);
  const mark = join(folder, ".complete");
  if ((await readFile(mark, "utf8").catch(() => undefined)) !== undefined) return folder;
  say(`Installing ${name} …`);
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  await make(folder);
  await writeFile(mark, "");
  return folder;
}

/** All peers that can be had; says which cannot, and why. */
async function preparePeers(): Promise<Ready[]> {
  const ready: Ready[] = [];
  const wanted = values.peers?.split(",");
  for (const file of (await readdir(ADAPTERS)).filter((name) => name.endsWith(".js")).sort()) {
    const name = file.slice(0, -".js".length);
    if (wanted !== undefined && !wanted.includes(name)) continue;
    const { peer } = (await import(`./peers/adapters/${file}`)) as { peer: Peer };
    try {
      const make = async (into: string): Promise<void> => peer.install?.(into, INTERPRETER);
      const folder = await installOnce(`${name}-${peer.version || "0"}`, make);
      ready.push({ peer, folder, dataDir: await makeDataDir() });
    } catch (error) {
      missing[peer.name] = (error as Error).message;
      say(`${peer.name} is left out: ${(error as Error).message}`);
    }
  }
  return ready;
}

/** One peer, all loads. */
async function visit({ peer, folder, dataDir }: Ready, round: number): Promise<void> {
  await mkdir(dataDir, { recursive: true });
  const setting = { interpreter: INTERPRETER, folder, dataDir, packages };
  const { started: running, readMs, close } = await meterStart(() => peer.start(setting));
  const beside = await bare.start(setting);
  try {
    const source = { pid: running.pid, readSuiteMs, readPeerMs: readMs };
    const stand = { peer, running, bare: beside, source, round };
    for (const load of loads) {
      const slice = await measureSlice(stand, load, { seconds, capacity: capacityOf(peer) });
      if (slice !== undefined) note(slice);
    }
    for (const [of, sizes] of [
      ["executions", values.growth],
      ["workflows", values.workflows],
    ] as const)
      for await (const slice of grow(stand, { of, sizes: sizes.split(",").filter(Boolean).map(Number), seconds }))
        note(slice);
    const minutes = Number(values.soak);
    for await (const slice of soak(stand, { minutes, dataDir, capacity: capacityOf(peer) })) {
      note(slice);
      await save();
    }
  } finally {
    await beside.stop();
    await running.stop();
    close();
  }
}

function capacityOf({ name }: Peer): number | undefined {
  return findCapacity(slices, name);
}

function note(slice: Slice): void {
  slices.push(slice);
  say(toLine(slice));
}

function toLine({ round, peer, load, calls, perSecond, wrong, errors, noiseCores, resources }: Slice): string {
  const held = Object.entries(resources ?? {}).map(([name, amount]) => `, ${amount.toFixed(0)} ${name}`);
  const figures = `p50 ${toFigure(calls).p50.toFixed(1)} ms, ${perSecond.toFixed(1)} a second${held.join("")}`;
  const problems = `${wrong} wrong, ${errors.length} failed${errors.length > 0 ? ` (${errors[0]})` : ""}`;
  return `${round} ${peer}, ${load}: ${calls.length} calls, ${figures}, ${problems}, noise ${noiseCores.toFixed(2)}`;
}

await mkdir(cache, { recursive: true });
const missing: Record<string, string> = {};
const packages = await installOnce("pandas", (folder) =>
  install(INTERPRETER, ["-m", "pip", "install", "--quiet", "--target", folder, PANDAS], folder),
).catch((error: Error) => {
  missing.pandas = error.message;
  say(`pandas is left out: ${error.message}`);
  return "";
});
const loads = wantedLoads.filter((name) => packages !== "" || LOADS[name]?.program !== "pandas");
const ready = await preparePeers();
const earlier = values.add === undefined ? undefined : (JSON.parse(await readFile(values.add, "utf8")) as Results);
const slices: Slice[] = [...(earlier?.slices ?? [])];

const files: FileRates[] = [...(earlier?.files ?? [])];
const about = ({ name, version, isolation, record }: Peer) => ({ name, version, isolation, record });
/** After each peer, and each minute of a soak, so that a run that is ended early leaves what it has. */
const save = (): Promise<string[]> =>
  writeReport(join(ROOT, "bench/results"), {
    at: earlier?.at ?? new Date().toISOString(),
    machine: `${availableParallelism()} cores, ${Math.round(totalmem() / 1024 ** 3)} GiB`,
    peers: mergePeers([...(earlier?.peers ?? []), ...ready.map(({ peer }) => about(peer))]),
    missing: { ...earlier?.missing, ...missing },
    slices,
    files,
  });

const before = Math.max(-1, ...slices.map(({ round }) => round));
for (let round = before + 1; round <= before + rounds; round++) {
  for (const each of ready) {
    await visit(each, round).catch((error: Error) => {
      missing[each.peer.name] = error.message;
      say(`${each.peer.name}: ${error.message}`);
    });
    await save();
  }
}
for (const { dataDir } of ready) await removeDataDir(dataDir);
if (values.files !== "0") files.push(...(await measureFiles(Number(values.files))));
for (const file of await save()) say(`Written: ${file.slice(ROOT.length)}`);
process.exitCode = slices.every(({ wrong, errors }) => wrong === 0 && errors.length === 0) ? 0 : 1;
