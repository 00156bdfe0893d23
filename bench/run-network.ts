import { availableParallelism, totalmem } from "node:os";
import { formatMs, toFigure } from "./figures.ts";
import { makeDataDir, type Published, publish, removeDataDir, startService } from "./service.ts";

/** What a network costs a caller, and what is billed for it: the same program with `limits.network` and without, by turns. */
const ROUNDS = Number(process.env.TREADLE_BENCH_ROUNDS ?? 200);
const INPUT = "name: { type: string }";
const PROGRAMS = {
  hello: { code: "def main(name):\n    return {'greeting': name}\n", requirements: "" },
  pandas: {
    code: "import pandas\ndef main(name):\n    return {'rows': len(pandas.DataFrame({'name': [name] * 1000}))}\n",
    requirements: "pandas\n",
  },
};
const NETWORK = "limits: { network: true }\n";
const say = (line: string): void => void process.stdout.write(`${line}\n`);

const service = await startService({ dataDir: await makeDataDir(), env: { TREADLE_EXAMPLES: "none" } });

async function callOnce(workflow: Published): Promise<{ ms: number; billed: number }> {
  const { status, ms, body } = await service.call(workflow, { name: "Ada" });
  if (status !== 200) throw new Error(`It answered ${status}: ${JSON.stringify(body)}`);
  return { ms, billed: (body.cost as { compute: number }).compute };
}

say(`${availableParallelism()} cores, ${Math.round(totalmem() / 1024 ** 3)} GiB`);
for (const [name, { code, requirements }] of Object.entries(PROGRAMS)) {
  const without = await publish(service.dataDir, INPUT, code, { requirements });
  const within = await publish(service.dataDir, INPUT, code, { requirements, config: NETWORK });
  const taken = { without: [] as number[], within: [] as number[] };
  const billed = { without: [] as number[], within: [] as number[] };
  for (let round = -20; round < ROUNDS; round += 1) {
    // The next interpreter is made behind a call, at the expense of the call after it: so each comes first as often.
    const isSwapped = round % 2 === 0;
    const first = await callOnce(isSwapped ? within : without);
    const second = await callOnce(isSwapped ? without : within);
    const [one, other] = isSwapped ? [second, first] : [first, second];
    if (round < 0) continue;
    taken.without.push(one.ms);
    taken.within.push(other.ms);
    billed.without.push(one.billed);
    billed.within.push(other.billed);
  }
  const [one, other] = [toFigure(taken.without), toFigure(taken.within)];
  say(`${name}: without a network ${formatMs(one)}, with it ${formatMs(other)}, ${(other.p50 / one.p50).toFixed(2)} ×`);
  const [paid, paidMore] = [toFigure(billed.without).p50, toFigure(billed.within).p50];
  say(`${name}: billed ${paid} and ${paidMore} credits, ${(paidMore / paid).toFixed(2)} × (goal: both at most 1.3 ×)`);
}
await service.stop();
await removeDataDir(service.dataDir);
