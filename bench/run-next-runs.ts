import { mkdirSync, writeFileSync } from "node:fs";
import { availableParallelism, totalmem } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { toFigure } from "./figures.ts";
import { measureNextRuns } from "./next-runs.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const ROUNDS = Number(process.env.TREADLE_BENCH_ROUNDS ?? 7);
const COUNT = 20_000;
const GOAL_PER_SECOND = 50_000;

const say = (line: string): void => void process.stdout.write(`${line}\n`);

const at = new Date();
// The first round compiles the code and looks up the offsets of the zones.
const rounds = Array.from({ length: ROUNDS + 1 }, () => measureNextRuns({ count: COUNT, from: at })).slice(1);
say(`Next runs a second, of ${COUNT} calls in ${ROUNDS} rounds. Goal: at least ${GOAL_PER_SECOND} of each.`);
const figures = (rounds[0] ?? []).map(({ expression }, index) => {
  const { p50 } = toFigure(rounds.map((round) => round[index]?.perSecond ?? 0));
  say(`  ${expression.padEnd(24)}${Math.round(p50).toLocaleString("en").padStart(10)}`);
  return { expression, perSecond: p50 };
});
const slowest = Math.min(...figures.map(({ perSecond }) => perSecond));
say(`Slowest: ${Math.round(slowest).toLocaleString("en")}, ${slowest >= GOAL_PER_SECOND ? "reached" : "missed"}.`);

const machine = `${availableParallelism()} cores, ${Math.round(totalmem() / 1024 ** 3)} GiB`;
mkdirSync(join(ROOT, "bench/results"), { recursive: true });
const file = join(ROOT, "bench/results", `${at.toISOString().slice(0, 10)}-next-runs.json`);
writeFileSync(file, `${JSON.stringify({ at: at.toISOString(), machine, count: COUNT, rounds })}\n`);
say(`Raw numbers: ${file.slice(ROOT.length)}`);
