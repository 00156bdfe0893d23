import { execFile } from "node:child_process";
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { listTree } from "../sandbox/process-tree.ts";
import { toFigure } from "./figures.ts";
import { readProportionalBytes } from "./processes.ts";
import type { BenchCommit, BenchSandbox } from "./sandbox.ts";

const start = promisify(execFile);
/** What a script that does nothing needs: a line to print and a result to give back. */
export const TRIVIAL = `def main(name="World"):
    print("hello", name)
    return {"greeting": {"message": "Hello, " + str(name)}}

if __name__ == "__main__":
    main()
`;
export const PANDAS = `import pandas as pd

def main(name="World"):
    frame = pd.DataFrame({"x": range(1000), "y": range(1000)})
    print(int(frame.groupby(frame.x % 7).y.sum().sum()))
    return {"rows": len(frame)}

if __name__ == "__main__":
    main()
`;

/** `python3 main.py`, without a sandbox. */
async function runBare(interpreter: string, commit: BenchCommit, packages?: string): Promise<number> {
  const env = { PATH: "/usr/bin:/bin", ...(packages === undefined ? {} : { PYTHONPATH: packages }) };
  const startedAt = performance.now();
  await start(interpreter, [commit.mainPath], { env, cwd: "/" });
  return performance.now() - startedAt;
}

/** One caller; each execution directly after a bare start, so that both meet the same phase of a noisy machine. */
export async function measureInTurn(deps: {
  interpreter: string;
  commit: BenchCommit;
  rounds: number;
  packages?: string;
}) {
  const { interpreter, commit, rounds, packages } = deps;
  await commit.warm();
  for (let round = 0; round < 10; round++) await commit.run();
  const bare: number[] = [];
  const lane: number[] = [];
  let cold = 0;
  for (let round = 0; round < rounds; round++) {
    bare.push(await runBare(interpreter, commit, packages));
    const { ms, path } = await commit.run();
    lane.push(ms);
    if (path === "cold") cold += 1;
  }
  const figures = { bare: toFigure(bare), lane: toFigure(lane) };
  return {
    ...figures,
    cold,
    ratios: { p50: figures.lane.p50 / figures.bare.p50, p99: figures.lane.p99 / figures.bare.p99 },
    raw: { bare, lane },
  };
}

/**
 * CPU of everything an execution needs, this process included, against that of a bare `python3 main.py` alone. In turns of
 * `rounds` each, as the same work takes such a machine half as much again from one second to the next.
 */
export async function measureCpu(
  interpreter: string,
  commit: BenchCommit,
  { turns, rounds, readMs }: { turns: number; rounds: number; readMs: () => number },
) {
  await commit.warm();
  const raw: { bare: number[]; lane: number[]; ratios: number[] } = { bare: [], lane: [], ratios: [] };
  for (let turn = 0; turn < turns; turn++) {
    const before = readMs();
    for (let round = 0; round < rounds; round++) await commit.run();
    await sleep(50); // The lane makes its next fork.
    const lane = (readMs() - before) / rounds;
    const children = childCpuMs();
    for (let round = 0; round < rounds; round++) await runBare(interpreter, commit);
    const bare = (childCpuMs() - children) / rounds;
    raw.lane.push(lane);
    raw.bare.push(bare);
    raw.ratios.push(lane / bare);
  }
  const figures = { bare: toFigure(raw.bare), lane: toFigure(raw.lane), ratios: toFigure(raw.ratios) };
  return { ...figures, ratio: figures.ratios.p50, raw };
}

/** The first execution of code that was just published and warmed, and of code that nobody had time to warm. */
export async function measureFirst(sandbox: BenchSandbox, interpreter: string, rounds: number) {
  const [warmed, cold, bare]: [number[], number[], number[]] = [[], [], []];
  for (let round = 0; round < rounds; round++) {
    const published = await sandbox.addCommit(TRIVIAL);
    await published.warm();
    bare.push(await runBare(interpreter, published));
    warmed.push((await published.run()).ms);
    cold.push((await (await sandbox.addCommit(TRIVIAL)).run()).ms);
  }
  const figures = { bare: toFigure(bare), warmed: toFigure(warmed), cold: toFigure(cold) };
  return {
    ...figures,
    ratios: { warmed: figures.warmed.p50 / figures.bare.p50, cold: figures.cold.p50 / figures.bare.p50 },
  };
}

/** Executions a second with eight callers, against eight callers that start the bare script, in turn. */
export async function measureRates(interpreter: string, commit: BenchCommit, windows: number) {
  const [lane, bare]: [number[], number[]] = [[], []];
  await measureRate(200, () => commit.run());
  for (let window = 0; window < windows; window++) {
    bare.push(await measureRate(300, () => runBare(interpreter, commit)));
    lane.push(await measureRate(400, () => commit.run()));
  }
  const figures = { bare: toFigure(bare), lane: toFigure(lane) };
  return { ...figures, ratio: figures.lane.p50 / figures.bare.p50, raw: { bare, lane } };
}

/** Many executions in a row, eight at a time: the rate of each thousand, and what there is more of at the end. */
export async function measureEndurance(commit: BenchCommit, count: number) {
  await measureRate(500, () => commit.run());
  const before = countKept();
  const rates: number[] = [];
  for (let done = 0; done < count; done += 1_000) rates.push(await measureRate(1_000, () => commit.run()));
  const after = countKept();
  return { rates: toFigure(rates), first: rates[0], last: rates.at(-1), before, after, raw: rates };
}

async function measureRate(count: number, act: () => Promise<unknown>): Promise<number> {
  let left = count;
  const startedAt = performance.now();
  const caller = async (): Promise<void> => {
    while (left-- > 0) await act();
  };
  await Promise.all(Array.from({ length: 8 }, caller));
  return (count * 1_000) / (performance.now() - startedAt);
}

/** Bytes that one waiting lane holds: the proportional set sizes of its processes. */
export function measureLaneBytes(): number[] {
  const trees = listTree(process.pid).filter((pid) => readText(`/proc/${pid}/cmdline`).includes("zygote.pyc"));
  const roots = trees.filter((pid) => readText(`/proc/${pid}/comm`).startsWith("bwrap"));
  return roots.map((root) => readProportionalBytes(listTree(root)));
}

/** Processes below this one, mounts, descriptors of this process, and namespaces of the machine. */
function countKept() {
  const namespaces = new Set<string>();
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    for (const kind of ["mnt", "pid", "net", "user"]) namespaces.add(readLink(`/proc/${pid}/ns/${kind}`));
  }
  return {
    processes: listTree(process.pid).length,
    mounts: readText("/proc/self/mountinfo").split("\n").length,
    descriptors: readdirSync("/proc/self/fd").length,
    namespaces: namespaces.size,
  };
}

/** Of children that were waited for, in ms: fields 16 and 17 of `/proc/self/stat`, in ticks of 10 ms. */
function childCpuMs(): number {
  const text = readText("/proc/self/stat");
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[13]) + Number(fields[14])) * 10;
}

function readText(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return "";
  }
}

function readLink(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return "";
  }
}
