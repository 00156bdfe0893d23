import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { Bench, Ran } from "../../runner/harness.ts";
import { runInLane } from "../lane-runs.ts";
import type { Scene } from "./scene.ts";
import type { Assault, AssaultOptions, Attack, Post, Siege, Way } from "./siege.ts";
import { openWeakened, SCENE_FOLDER, type Weakening } from "./weaken.ts";

/** How long loot is looked for that comes by itself, where none must come and where some must. */
const CONTAINED_MS = 100;
const SUCCESS_MS = 20_000;
const PROGRAMS = fileURLToPath(new URL("programs", import.meta.url));
const SIEGE = readFileSync(join(PROGRAMS, "siege.py"), "utf8");

/** Keeps one bench for every set of weakenings. */
export interface Field {
  /** Carries out an attack; answers what it got. With `control`, its defence is taken away. */
  wage(attack: Attack, way: Way, control: boolean): Promise<readonly string[]>;
  close(): Promise<void>;
}

export function openField(scene: Scene): Field {
  const benches = new Map<string, Promise<Bench>>();
  const benchFor = (weakenings: readonly Weakening[], way: Way): Promise<Bench> => {
    const makers = weakenings.map(({ isolation, bubblewrap, sources }) => ({ isolation, bubblewrap, sources }));
    const key = JSON.stringify([makers, way !== "cold"]);
    const bench = benches.get(key) ?? openWeakened(weakenings, way !== "cold");
    benches.set(key, bench);
    return bench;
  };
  return {
    async wage(attack, way, control) {
      const weakenings = [attack.circumstance ?? {}, control ? attack.control : {}].map(
        (each) => JSON.parse(JSON.stringify(each).replaceAll(SCENE_FOLDER, scene.folder)) as Weakening,
      );
      const bench = await benchFor(weakenings, way);
      return attack.wage(besiege({ way, bench, scene, weakenings, control }));
    },
    async close() {
      for (const bench of await Promise.allSettled(benches.values()))
        if (bench.status === "fulfilled") await bench.value.close();
    },
  };
}

function besiege(around: {
  readonly way: Way;
  readonly bench: Bench;
  readonly scene: Scene;
  readonly weakenings: readonly Weakening[];
  readonly control: boolean;
}): Siege {
  const { way, bench, scene, weakenings, control } = around;
  const limits = Object.assign({}, ...weakenings.map((each) => each.limits));
  const post = async (name: string, options: AssaultOptions = {}): Promise<Post> => {
    const { packages, finishes: _, ...program } = options;
    const commit = bench.commit({
      ...program,
      code: readFileSync(join(PROGRAMS, `${name}.py`), "utf8"),
      commit: { "siege.py": SIEGE },
      limits: { ...options.limits, ...limits },
      ...(packages && { environmentDir: bench.environment(packages) }),
    });
    if (way === "any") await commit.warm();
    const run: Post["run"] = async (given = {}) => {
      const { finishes = options.finishes ?? true, ...rest } = given;
      const { limits: ___, packages: ____, finishes: __, ...whole } = options;
      const all = { ...whole, ...rest };
      // An attack that went cold for once was an attack all the same, and would be found on its own path.
      const ran = way === "lane" ? await runInLane(commit, all) : await commit.run(all);
      if (way === "cold" && ran.path !== way) throw new Error(`${name} was to run cold.`);
      return toAssault(name, ran, finishes);
    };
    return { commit, run };
  };
  return {
    way,
    bench,
    scene,
    isControl: control,
    inOne: weakenings.some((each) => each.inOne === true),
    lookFor: (look) => watch(look, control ? SUCCESS_MS : CONTAINED_MS),
    post,
    run: async (name, options) => (await post(name, options)).run(),
  };
}

async function watch(look: () => readonly string[], patienceMs: number): Promise<readonly string[]> {
  for (const until = performance.now() + patienceMs; ; await sleep(5)) {
    const loot = look();
    if (loot.length > 0 || performance.now() > until) return loot;
  }
}

function toAssault(name: string, ran: Ran, finishes: boolean): Assault {
  const lines = (file: string) =>
    (ran.texts[file] ?? "")
      .split("\n")
      .filter(Boolean)
      .map((line) => JSON.parse(line) as [string, string]);
  if (finishes && ran.texts.finished === undefined) {
    throw new Error(`${name} did not get to its end: ${ran.outcome.status}, ${ran.outcome.message}\n${ran.stderr}`);
  }
  return {
    ran,
    loot: lines("loot").map(([what, value]) => `${what}: ${value}`),
    refused: Object.fromEntries(lines("refused")),
  };
}
