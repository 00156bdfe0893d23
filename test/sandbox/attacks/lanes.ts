// Attacks of one execution on the next, or on one beside it: what must not pass between executions of the same commit.
import { randomBytes } from "node:crypto";
import type { AssaultOptions, Attack, Siege } from "./siege.ts";

const BOTH = ["cold", "lane"] as const;
const IN_ONE = { without: "a boundary: both parts in one execution", inOne: true } as const;
const SHOP = {
  "shop.py": `
CACHE = {}
TEXT = b"a text of a package"
PAIR = ("first", "second")


class Shop:
    pass


def price(amount=2):
    return amount
`,
};

/** Plants in one execution and looks in the next; in the control, both in one. */
const planted =
  (program: string, options: Omit<AssaultOptions, "inputs"> = {}) =>
  async ({ post, inOne, scene }: Siege): Promise<readonly string[]> => {
    const name = scene.newName();
    const own = await post(program, { ...options, inputs: { name, plant: true, look: true } });
    if (inOne) return (await own.run()).loot;
    const first = await own.run({ inputs: { name, plant: true, look: false } });
    const second = await own.run({ inputs: { name, plant: false, look: true } });
    const third = await own.run({ inputs: { name, plant: false, look: true } });
    return [...first.loot, ...second.loot, ...third.loot];
  };

export const LANE_ATTACKS: readonly Attack[] = [
  {
    name: "state of the interpreter",
    source: "own",
    essence:
      "patches built-ins, standard library and packages, hooks, filters, contexts, limits; looks for it next time",
    containment: "nothing of it is there",
    ways: BOTH,
    wage: planted("interpreter_state", { packages: SHOP }),
    control: IN_ONE,
  },
  {
    name: "memory shared with the zygote",
    source: "own",
    essence: "writes by ctypes into objects and into the C library's state that were made before the fork",
    containment: "the next execution finds them as they were",
    ways: BOTH,
    wage: planted("memory_patches", { packages: SHOP }),
    control: IN_ONE,
  },
  {
    name: "state of the process",
    source: "own",
    essence: "changes umask, folder, priority, descriptors, masks, timers, limits, name, scores",
    containment: "nothing of it is there next time",
    ways: BOTH,
    wage: planted("process_state"),
    control: IN_ONE,
  },
  {
    name: "marks in the network",
    source: "57, 58",
    essence: "leaves listeners, abstract sockets, lingering connections and counters",
    containment: "the next execution finds a network that nobody has used",
    ways: BOTH,
    wage: planted("network_marks"),
    control: IN_ONE,
  },
  {
    name: "shared memory and queues",
    source: "own",
    essence: "leaves POSIX and System V memory, semaphores and queues",
    containment: "there are none next time",
    ways: BOTH,
    wage: planted("shared_memory"),
    control: IN_ONE,
  },
  {
    name: "code that lives on",
    source: "39",
    essence: "leaves daemons, threads, timers and handlers that mark whatever comes after",
    containment: "the next execution is not haunted",
    ways: BOTH,
    wage: planted("lingering_code"),
    control: IN_ONE,
  },
  {
    name: "inputs of an earlier execution",
    source: "own",
    essence: "searches all of its memory and every file for a text that the execution before was given",
    containment: "it is nowhere",
    ways: BOTH,
    wage: async ({ post, inOne }) => {
      const own = await post("memory_search", { inputs: { text: "", masked: [] } });
      const [text, never] = [randomBytes(24).toString("hex"), randomBytes(24).toString("hex")];
      const count = async (wanted: string, given: string) => {
        const masked = [...Buffer.from(wanted)].map((byte) => byte ^ 0x5a);
        return Number((await own.run({ inputs: { text: given, masked } })).ran.stdout);
      };
      await own.run({ inputs: { text, masked: [] } });
      // The search finds what it searches for in its own hands. Of a text that nobody was ever given it finds that alone.
      const [found, usual] = [await count(text, inOne ? text : ""), await count(never, "")];
      return found > usual ? [`${found} times, and ${usual} times a text that nobody was given`] : [];
    },
    control: IN_ONE,
  },
  {
    name: "random numbers",
    source: "59",
    essence: "draws from every generator of the standard library, OpenSSL's and the names of temporary files",
    containment: "nothing that one execution drew is drawn by another, though all were forked from one process",
    ways: BOTH,
    wage: async ({ post }) => {
      const own = await post("randomness", { inputs: { seen: [] } });
      const seen: string[] = [];
      const loot: string[] = [];
      for (let round = 0; round < 3; round++) {
        const { ran, loot: found } = await own.run({ inputs: { seen } });
        seen.push(...ran.stdout.split("\n"));
        loot.push(...found);
      }
      return loot;
    },
    control: {
      way: "lane",
      without: "new seeds in each fork",
      sources: [{ file: "runner/_treadle_fork.py", from: "        self.reseed()\n", to: "" }],
    },
  },
  {
    name: "what others read",
    source: "own",
    essence: "watches a file of the standard library by inotify, to learn what another execution imports, and when",
    containment: "it is told nothing",
    ways: BOTH,
    wage: async ({ post }) => {
      const watcher = await post("watcher", { inputs: { role: "watch", seconds: 0.4 } });
      const reader = await post("watcher", { inputs: { role: "read", seconds: 0 } });
      let reading: ReturnType<typeof reader.run> | undefined;
      const { loot } = await watcher.run({ onLine: () => void (reading ??= reader.run()) });
      await reading;
      return loot;
    },
    control: { without: "the filter", bubblewrap: { noFilter: true } },
  },
  {
    name: "folder of the lane",
    source: "4",
    essence: "lists and writes the folder where outputs and inputs of the lane's other executions lie",
    containment: "it is covered",
    ways: BOTH,
    wage: async ({ post }) => {
      const own = await post("lane_folder", { inputs: {} });
      return [...(await own.run()).loot, ...(await own.run()).loot];
    },
    control: {
      way: "lane",
      without: "the cover over it, and the host's look at it",
      sources: [
        {
          file: "runner/_treadle_fork.py",
          from: '        mount(b"tmpfs", request["laneDir"].encode(),',
          to: '        mount(b"tmpfs", b"/var" and b"/app/inputs",',
        },
        {
          file: "sandbox/lanes/guard.ts",
          from: "if (mounts.get(INSIDE.lane) !== false)",
          to: "if (mounts.size === 0)",
        },
        {
          file: "sandbox/lanes/guard.ts",
          from: "${INSIDE.work}/outputs`, ",
          to: "${INSIDE.work}/outputs`, INSIDE.lane, ",
        },
        {
          file: "sandbox/self-test.ts",
          from: '    forbid("the lane\'s folder can be read", lambda: os.listdir("/lane"))\n',
          to: "",
        },
      ],
    },
  },
  {
    name: "neighbours",
    source: "3, 63",
    essence: "one execution listens on every address and an abstract name, another looks for it and its processes",
    containment: "neither hears of the other",
    ways: BOTH,
    wage: async ({ post, scene, bench }) => {
      const port = 20_000 + (scene.port % 10_000);
      // Whoever comes at all comes within that time, also where everything takes long.
      const seconds = bench.settings.isolation === "none" ? 10 : 0.5;
      const listener = await post("neighbour", { inputs: { role: "listen", port, seconds } });
      const visitor = await post("neighbour", { inputs: { role: "visit", port, seconds } });
      let visit: ReturnType<typeof visitor.run> | undefined;
      const { loot } = await listener.run({ onLine: () => void (visit ??= visitor.run()) });
      return [...loot, ...((await visit)?.loot ?? ["the listener was never up"])];
    },
    control: { isolation: "none", limits: { processes: 1000 }, without: "every namespace" },
  },
];
