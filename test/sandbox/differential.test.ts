import { createHash } from "node:crypto";
import { readFileSync, rmSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { collectPackageSettings } from "../../environments/package-settings.ts";
import { createNetwork, type Network } from "../../sandbox/network/network.ts";
import { aFolder, findUv, lockOf, MACHINE_SETTINGS, someEnvironments } from "../environments/machine.ts";
import { makeFolder } from "../runner/folders.ts";
import {
  type Bench,
  findInterpreter,
  openBench,
  openUsers,
  openWarmBench,
  type Program,
  type Ran,
  UNPRIVILEGED,
} from "../runner/harness.ts";
import { type CorpusProgram, listPrograms } from "./corpus.ts";
import { type Given, RUNNER_FRAME } from "./given.ts";
import { runInLane } from "./lane-runs.ts";
import { PROGRAMS } from "./network/bench.ts";
import { IS_ROOT } from "./network/world.ts";

/** The packages that workflows use most. One environment for all programs that need any. */
const PACKAGES = ["numpy==2.2.6", "pandas==2.3.3", "matplotlib==3.10.7", "pillow==12.0.0", "requests==2.32.5"];
/** Packages take their time to be imported on a machine that has none, and no program here is to run out of it. */
const LIMITS = { memoryBytes: 1024 * 1024 * 1024, timeoutSeconds: 120 };
const PROGRAMS_MIN = 60;
/** The long form, `TREADLE_TEST_SANDBOX=all`, gives every program a network; else one in so many has one, and each that asks outside. */
const ONE_IN = process.env["TREADLE_TEST_SANDBOX"] === "all" ? 1 : 8;

let cold: Bench;
let warm: Bench;
let network: Network;
const networkDir = makeFolder("network");
let packages: string;

beforeAll(async () => {
  cold = await openBench();
  const users = await openUsers();
  // Of the machine itself: no program here asks for more than its own host, and addresses that nobody may have.
  network = await createNetwork({
    programs: { ...PROGRAMS, python3: findInterpreter().path },
    dir: networkDir,
    slots: 2,
    runAs: IS_ROOT ? UNPRIVILEGED : undefined,
    within: users?.enterAsOwner,
    report: (line) => console.error(line),
  });
  warm = await openWarmBench({ users, network });
  const env = await collectPackageSettings(MACHINE_SETTINGS, process.env.HOME ?? aFolder());
  const environments = someEnvironments({ uv: findUv(), env });
  const { key, lock } = await lockOf(environments, ...PACKAGES);
  packages = await environments.ensure(key, lock);
}, 300_000);

afterAll(async () => {
  await Promise.all([cold.close(), warm.close()]);
  await network.close();
  rmSync(networkDir, { recursive: true });
});

/** Everything an execution gives back but times. Of each stream the order of lines counts; between streams there is none. */
function describeRan(ran: Ran, { normalize = (text) => text }: Given) {
  const linesOf = (stream: string) => {
    const lines = ran.log.filter((line) => line.stream === stream).map(({ text }) => normalize(text));
    return lines.filter((line, index) => line !== RUNNER_FRAME || lines[index - 1] !== RUNNER_FRAME);
  };
  return {
    status: ran.outcome.status,
    message: normalize(ran.outcome.message),
    outputs: ran.outputs.map(({ name, fileName, path, bytes, content = readFileSync(path) }) => {
      const text = ran.texts[name];
      return text !== undefined && bytes < 20_000
        ? { name, fileName, text: normalize(text) }
        : { name, fileName, bytes, sha256: createHash("sha256").update(content).digest("hex") };
    }),
    stdout: linesOf("stdout"),
    stderr: linesOf("stderr"),
    system: linesOf("system"),
    truncated: ran.logTruncated,
    progress: ran.progress,
  };
}

const corpus = listPrograms((name) => (name.startsWith("packages/") ? "packages" : undefined)).map((each, index) => {
  const networked = index % ONE_IN === 0 || each.given.asksOutside === true;
  return { ...each, networked, ways: networked ? "twice in a lane, and with a network there" : "and twice in a lane" };
});

function withPackages(program: Program): Program {
  const limits = { ...LIMITS, ...program.limits };
  return program.environmentDir === undefined
    ? { ...program, limits }
    : { ...program, limits, environmentDir: packages };
}

test("corpus, counted, is as large as was promised", () => {
  expect(corpus.length).toBeGreaterThanOrEqual(PROGRAMS_MIN);
});

test("numpy's generators, in executions of one lane, draw other numbers each time", async () => {
  const code =
    "import numpy as np\ndef main():\n    print(np.random.random(), np.random.randint(1 << 40), np.random.default_rng().random())\n";
  const commit = warm.commit({ code, environmentDir: packages, limits: LIMITS });
  const drawn: string[] = [];
  for (let round = 0; round < 3; round++) drawn.push(...(await runInLane(commit)).stdout.trim().split(" "));
  expect(new Set(drawn).size).toBe(9);
});

test.each(corpus)(
  "$name, run cold, $ways, gives equal results",
  async ({ program, given, networked }: CorpusProgram & { networked: boolean }) => {
    const whole = withPackages(program);
    const commit = warm.commit(whole);
    const [coldRan] = await Promise.all([cold.run(whole), commit.warm()]);
    const expected = describeRan(coldRan, given);
    const expectEqual = (ran: Ran) => expect(describeRan(ran, given)).toEqual(expected);
    if (given.unfit !== undefined) {
      expect(await commit.warm()).toEqual({ warm: false, reason: expect.stringContaining(given.unfit) });
      const ran = await commit.run();
      expect(ran.path).toBe("cold");
      return expectEqual(ran);
    }
    for (const heldBytesMax of [0, 65_536]) expectEqual(await runInLane(commit, { heldBytesMax }, expectEqual));
    if (!networked) return;
    const outward = { ...whole, network: true };
    const first = given.asksOutside === true ? describeRan(await warm.run(outward), given) : expected;
    expect(describeRan(await runInLane(warm.commit(outward)), given)).toEqual(first);
  },
);
