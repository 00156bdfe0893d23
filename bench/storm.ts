import type { SandboxLimits } from "../sandbox/sandbox.ts";
import { toFigure } from "./figures.ts";
import { TRIVIAL } from "./lanes.ts";
import type { BenchCommit, BenchSandbox } from "./sandbox.ts";

const MIB = 1024 * 1024;
const STORM_SECONDS = 5;
const LIMITS: Partial<SandboxLimits> = {
  timeoutSeconds: STORM_SECONDS,
  memoryBytes: 256 * MIB,
  outputBytesMax: 512 * MIB,
};
/** Each tries again what it is refused, until its time is over or it is ended. */
const PROGRAMS = {
  forks: `import os, time
while True:
    try:
        os.fork()
    except OSError:
        time.sleep(0.01)
`,
  memory: `pieces = []
while True:
    pieces.append(bytearray(b"x") * (1 << 20))
`,
  outputs: `while True:
    print("x" * 1000)
    with open("outputs/flood", "ab") as file:
        file.write(b"x" * 100_000)
`,
};

/**
 * One caller of a trivial commit in a lane, first alone and then beside a fork bomb, a memory hog and an output flood, each of
 * which is started anew when it has ended.
 */
export async function measureStorm(sandbox: BenchSandbox, rounds: number) {
  const hello = await sandbox.addCommit(TRIVIAL);
  await hello.warm();
  const quiet = await repeat(hello, rounds);
  const attackers = await Promise.all(
    Object.values(PROGRAMS).map((code) => sandbox.addCommit(code, { limits: LIMITS })),
  );
  let isOver = false;
  const ends: string[] = [];
  const storm = attackers.map(async (attacker) => {
    while (!isOver) ends.push((await attacker.tryToRun()).status);
  });
  const stormy = await repeat(hello, rounds);
  isOver = true;
  await Promise.all(storm);
  const figures = { quiet: toFigure(quiet), stormy: toFigure(stormy) };
  const stormEnds = Object.fromEntries(
    [...new Set(ends)].map((end) => [end, ends.filter((each) => each === end).length]),
  );
  return { ...figures, ratio: figures.stormy.p50 / figures.quiet.p50, ends: stormEnds, raw: { quiet, stormy } };
}

async function repeat(commit: BenchCommit, rounds: number): Promise<number[]> {
  const series: number[] = [];
  for (let round = 0; round < rounds; round++) series.push((await commit.run()).ms);
  return series;
}
