import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { drawBars, drawLines } from "./charts.ts";
import type { FileRates } from "./files.ts";
import type { Peer } from "./peer.ts";
import type { Slice } from "./slices.ts";
import { READINGS, type Reading, summarise } from "./summary.ts";
import { writeFiles, writeSoak, writeTables } from "./tables.ts";
import { COMPONENTS } from "./usage.ts";

/** What a run leaves, as JSON. */
export interface Results {
  readonly at: string;
  /** Its size. */
  readonly machine: string;
  readonly peers: readonly Pick<Peer, "name" | "version" | "isolation" | "record">[];
  /** Peers that could not be installed or failed, with the reason. */
  readonly missing: Readonly<Record<string, string>>;
  readonly slices: readonly Slice[];
  /** Large files through Treadle. */
  readonly files: readonly FileRates[];
}

/** Writes JSON, tables and charts, named by the day, and returns their paths. */
export async function writeReport(folder: string, results: Results): Promise<string[]> {
  await mkdir(folder, { recursive: true });
  const day = results.at.slice(0, 10);
  const files = {
    "peers.json": `${JSON.stringify(results)}\n`,
    "peers.md": toMarkdown(results),
    ...drawCharts(results),
  };
  return Promise.all(
    Object.entries(files).map(async ([name, content]) => {
      const path = join(folder, `${day}-${name}`);
      await writeFile(path, content);
      return path;
    }),
  );
}

/** Returns what was measured, of which peers, and the tables. */
export function toMarkdown({ at, machine, peers, missing, slices, files }: Results): string {
  const about = peers.map((peer) => `| ${peer.name} | ${peer.version} | ${peer.isolation} | ${peer.record} |`);
  const [wrong, failed] = [sumOf(slices, (slice) => slice.wrong), sumOf(slices, ({ errors }) => errors.length)];
  const calls = sumOf(slices, (slice) => slice.calls.length);
  return [
    `# ${at.slice(0, 10)}, ${machine}\n`,
    `${calls} calls, every answer compared: ${wrong} wrong, ${failed} failed.\n`,
    "| Peer | Version | Isolation | On disk before the answer |",
    "|---|---|---|---|",
    ...about,
    ...Object.entries(missing).map(([name, reason]) => `\n${name} is missing: ${reason}`),
    ...writeTables(
      slices,
      peers.map(({ name }) => name),
    ),
    ...writeSoak(slices),
    ...writeFiles(files),
    "",
  ].join("\n");
}

function drawCharts({ peers, slices }: Results): Record<string, string> {
  const barsOf = (load: string, reads: readonly Reading[]) =>
    peers.flatMap(({ name }) => {
      const parts = reads.map((read) => summarise(slices, { peer: name, load, read })?.median);
      return parts.every((part) => part !== undefined) ? [{ name, parts }] : [];
    });
  const shares = [25, 50, 75, 90];
  const lines = peers.flatMap(({ name }) => {
    const points = shares.flatMap((share) => {
      const spread = summarise(slices, { peer: name, load: `open${share}`, read: READINGS.p99Ms });
      return spread === undefined ? [] : [[share, spread.median] as const];
    });
    return points.length === 0 ? [] : [{ name, points }];
  });
  const parts = COMPONENTS.map((part) => (slice: Slice) => slice.processorMs[part]);
  const charts: Record<string, string> = {
    "peers-hello.svg": drawBars({
      title: "hello, one caller: p50 as a multiple of python3 main.py",
      labels: [""],
      bars: barsOf("hello", [READINGS.p50Ratio]),
    }),
    "peers-rate.svg": drawBars({
      title: "hello a second, eight callers",
      labels: [""],
      bars: barsOf("hello8", [READINGS.perSecond]),
    }),
    "peers-processor.svg": drawBars({
      title: "Milliseconds of processor time a hello, eight callers",
      labels: COMPONENTS,
      bars: barsOf("hello8", parts),
    }),
  };
  if (lines.length > 0) {
    const title = "p99 in ms from when a call was due, at a share of each peer's own rate";
    charts["peers-arrivals.svg"] = drawLines({ title, lines, ticks: shares });
  }
  return charts;
}

/** Returns each peer once, as it was described last. */
export function mergePeers(peers: Results["peers"]): Results["peers"] {
  return [...new Map(peers.map((peer) => [peer.name, peer])).values()];
}

function sumOf(slices: readonly Slice[], read: (slice: Slice) => number): number {
  return slices.reduce((total, slice) => total + read(slice), 0);
}
