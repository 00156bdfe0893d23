import type { FileRates } from "./files.ts";
import type { Slice } from "./slices.ts";
import { READINGS, type Reading, type Spread, summarise } from "./summary.ts";
import { COMPONENTS } from "./usage.ts";

interface Column {
  readonly title: string;
  readonly load: string;
  readonly read: Reading;
}

/** A table for each question. A column of which nothing was measured is left out. */
const TABLES: Readonly<Record<string, readonly Column[]>> = {
  "One caller, as a multiple of a bare start (p50)": [
    { title: "hello p50", load: "hello", read: READINGS.p50Ratio },
    { title: "hello p95", load: "hello", read: READINGS.p95Ratio },
    { title: "hello p99", load: "hello", read: READINGS.p99Ratio },
    { title: "pandas p50", load: "pandas", read: READINGS.p50Ratio },
    { title: "10 × fib(33), total", load: "fib33", read: READINGS.totalRatio },
    { title: "first run of a new commit, p50", load: "first", read: READINGS.p50Ratio },
  ],
  "40 × fib(10), one after the other": [
    { title: "seconds", load: "fib10", read: READINGS.totalSeconds },
    { title: "÷ bare", load: "fib10", read: READINGS.totalRatio },
  ],
  "Eight callers": [
    { title: "hello a second", load: "hello8", read: READINGS.perSecond },
    { title: "hello p99, ms", load: "hello8", read: READINGS.p99Ms },
    { title: "pandas a second", load: "pandas8", read: READINGS.perSecond },
    { title: "hello a second, two minutes", load: "sustained", read: READINGS.perSecond },
    { title: "quiet again after, s", load: "sustained", read: ({ quietAfterSeconds }) => quietAfterSeconds },
  ],
  "Milliseconds of processor time a hello, eight callers": [
    ...COMPONENTS.map((part) => ({ title: part, load: "hello8", read: (slice: Slice) => slice.processorMs[part] })),
    { title: "all", load: "hello8", read: READINGS.processorMs },
  ],
  "Constant arrivals: ms from when a call was due, p50 and p99, at a share of the peer's own rate": [
    25, 50, 75, 90,
  ].flatMap((share) => [
    { title: `${share} % p50`, load: `open${share}`, read: READINGS.p50Ms },
    { title: `${share} % p99`, load: `open${share}`, read: READINGS.p99Ms },
  ]),
};

/** What Treadle says of a call in `Server-Timing`, and the program's own time out of the answer. */
const STAGES = ["authenticate", "receive", "record", "start", "wait", "program"];

/** Returns the tables: in each cell the median of the rounds and their range; ≈ where others used over half a core. */
export function writeTables(slices: readonly Slice[], peers: readonly string[]): string[] {
  const grown = [...new Set(slices.map(({ load }) => load))].filter((load) => load.startsWith("hello beside "));
  const all: Record<string, readonly Column[]> = {
    ...TABLES,
    "Stages of a hello by Server-Timing, ms; the program is part of the wait": STAGES.map((stage) => ({
      title: stage,
      load: "hello",
      read: ({ stages }: Slice) => stages?.[stage] ?? Number.NaN,
    })),
    "hello beside finished executions and other workflows, p50 as a multiple of a bare start": grown.map((load) => ({
      title: load.slice("hello beside ".length),
      load,
      read: READINGS.p50Ratio,
    })),
  };
  return Object.entries(all).flatMap(([heading, columns]) => {
    const measured = columns.filter(({ load, read }) => peers.some((peer) => summarise(slices, { peer, load, read })));
    if (measured.length === 0) return [];
    const rows = peers.flatMap((peer) => {
      const cells = measured.map(({ load, read }) => toCell(summarise(slices, { peer, load, read })));
      return cells.every((cell) => cell === "") ? [] : [`| ${peer} | ${cells.join(" | ")} |`];
    });
    const head = `| Peer | ${measured.map(({ title }) => title).join(" | ")} |`;
    return [`\n## ${heading}\n`, head, `|---|${"---|".repeat(measured.length)}`, ...rows];
  });
}

function toCell(spread: Spread | undefined): string {
  if (spread === undefined) return "";
  const { median, least, most, rounds, isNoisy } = spread;
  const format = (value: number): string => (value >= 100 ? value.toFixed(0) : String(Number(value.toPrecision(3))));
  return `${isNoisy ? "≈ " : ""}${format(median)}${rounds > 1 ? ` (${format(least)}–${format(most)})` : ""}`;
}

/** The first and the last minute of each peer. */
export function writeSoak(slices: readonly Slice[]): string[] {
  const soaks = slices.filter(({ load }) => load === "soak");
  if (soaks.length === 0) return [];
  const rows = [...new Set(soaks.map(({ peer }) => peer))].flatMap((peer) => {
    const minutes = soaks.filter((slice) => slice.peer === peer);
    const ends = [minutes.at(0), minutes.at(-1)].filter((minute) => minute !== undefined);
    return ends.map((slice) => {
      const { memoryMebibytes = 0, descriptors = 0, diskMebibytes = 0 } = slice.resources ?? {};
      const times = [READINGS.p50Ms(slice), READINGS.p99Ms(slice)].map((ms) => ms.toFixed(1));
      const held = [memoryMebibytes.toFixed(0), descriptors, diskMebibytes];
      return `| ${slice.peer} | ${[slice.round + 1, ...times, ...held].join(" | ")} |`;
    });
  });
  const titles = ["Peer", "Minute", "p50, ms", "p99, ms", "memory, MiB", "descriptors", "disk, MiB"];
  return [
    "\n## Half of its own rate for long\n",
    `| ${titles.join(" | ")} |`,
    "|---|---|---|---|---|---|---|",
    ...rows,
  ];
}

/** Rates as shares of `cp`, round by round. */
export function writeFiles(files: readonly FileRates[]): string[] {
  if (files.length === 0) return [];
  const rows = files.map(({ mebibytes, upload, output, cp, grewMebibytes }) =>
    [mebibytes, (upload / cp).toFixed(2), (output / cp).toFixed(2), cp.toFixed(0), grewMebibytes.toFixed(0)].join(
      " | ",
    ),
  );
  const head = "| MiB | upload ÷ cp | output ÷ cp | cp, MiB a second | memory grew by, MiB |";
  return ["\n## Large files through Treadle\n", head, "|---|---|---|---|---|", ...rows.map((row) => `| ${row} |`)];
}
