import { openYardstick } from "../src/trial/yardstick.ts";
import { toFigure } from "./figures.ts";
import { readTree } from "./processes.ts";
import type { BenchService } from "./service.ts";

/**
 * `hello` over HTTPS, end to end, one caller: each call directly after a bare `python3 main.py`, so that both meet the same
 * phase of a noisy machine. What a service does after its answer slows the next interpreter down by about a fifth, so the ratio
 * compares versions of the service; `bench:peers` compares it with others. Answers the ratio of the medians, and CPU per call of each program.
 */
export async function measureHello(service: BenchService, interpreter: string, rounds: number) {
  const yardstick = await openYardstick(interpreter);
  try {
    for (let round = 0; round < 10; round += 1) await service.execute("hello", { name: "warm-up" });
    const bare: number[] = [];
    const calls: number[] = [];
    const before = await readTree(service.ready.pid);
    for (let round = 0; round < rounds; round += 1) {
      bare.push(await yardstick.measureMs());
      const call = await service.execute("hello", { name: "Ada" });
      if (call.status !== 200) throw new Error(`hello answered ${call.status}: ${JSON.stringify(call.body)}`);
      calls.push(call.ms);
    }
    const after = await readTree(service.ready.pid);
    const cpuMsPerCall = Object.fromEntries(
      [...after].map(([name, seconds]) => [name, ((seconds - (before.get(name) ?? 0)) * 1000) / rounds]),
    );
    const figures = { bare: toFigure(bare), call: toFigure(calls) };
    return { ...figures, ratio: figures.call.p50 / figures.bare.p50, cpuMsPerCall, raw: { bare, calls } };
  } finally {
    await yardstick.close();
  }
}
