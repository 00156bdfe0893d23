// Attacks by a package: its code runs in a lane's zygote, where everything that is ours is within its reach.
import { lstatSync, readFileSync, readlinkSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { findCgroupFolders } from "../../../sandbox/cgroup-folders.ts";
import { OWN_PROCESSES } from "../../../sandbox/lanes/zygote.ts";
import { measureMemoryBytes } from "../../../sandbox/process-tree.ts";
import { toDataBytes } from "../../../sandbox/request.ts";
import { findByName } from "./scene.ts";
import type { Attack, Siege } from "./siege.ts";
import type { Patch } from "./weaken.ts";

const MIB = 1024 * 1024;
const FOLDER = fileURLToPath(new URL("programs/packages", import.meta.url));
const GUARD = "sandbox/lanes/guard.ts";
const read = (name: string) => readFileSync(`${FOLDER}/${name}.py`, "utf8");
const evil = (name: string) => ({ "evil.py": read(name) });

/** Gives a package one secret after the other, and asks it for those before. */
const betray =
  (packages: Readonly<Record<string, string>>) =>
  async ({ post }: Siege): Promise<readonly string[]> => {
    const own = await post("tells_package", {
      packages,
      inputs: { text: "" },
      limits: { timeoutSeconds: 5 },
      finishes: false,
    });
    const loot: string[] = [];
    for (const text of ["Alpha", "Beta", "Gamma"]) {
      loot.push(...(await own.run({ inputs: { text } })).loot);
      await sleep(30); // The next fork is made meanwhile.
    }
    return loot;
  };

const DESCRIPTORS_UNSEEN: readonly Patch[] = [
  { file: GUARD, from: "if (descriptors.join() !== ZYGOTE_DESCRIPTORS)", to: "if (descriptors.length === 0)" },
  { file: GUARD, from: "  await expectOwnDescriptors(ofForks, () => reach.listDescriptors(forks));\n", to: "" },
];
const UNCONFINED: readonly Patch[] = [
  { file: GUARD, from: "if (problems.length > 0)", to: "if (problems.length > 100)" },
];
const HOG_LIMITS = { memoryBytes: 96 * MIB, processes: 24 };
/**
 * What a lane may have at the most while packages are imported: by its limit of processes, and of memory by its cgroup
 * or, without cgroups, by the limit of each process's data. The rest is what the kernel counts in batches.
 */
const HOG_BOUNDS = {
  processes: HOG_LIMITS.processes + OWN_PROCESSES,
  bytes: (findCgroupFolders() === undefined ? toDataBytes(HOG_LIMITS) : HOG_LIMITS.memoryBytes) + 8 * MIB,
};
const SHARED_UNSEEN: readonly Patch[] = [{ file: GUARD, from: "if (sharesMemory(zygote))", to: "if (zygote === 0)" }];

export const PACKAGE_ATTACKS: readonly Attack[] = [
  {
    name: "package with shared memory",
    source: "own",
    essence: "keeps a shared page that every fork can write: what one execution is given is there for the next",
    containment: "no execution sees the input of another, whichever way they run",
    ways: ["any"],
    wage: betray(evil("shared_memory")),
    control: { without: "the host's look at shared mappings", sources: SHARED_UNSEEN },
  },
  {
    name: "package with sealed shared memory",
    source: "own",
    essence: "the same with a page that is not writable until an execution makes it so",
    containment: "no execution sees the input of another",
    ways: ["any"],
    wage: betray(evil("sealed_memory")),
    control: { without: "the host's look at shared mappings", sources: SHARED_UNSEEN },
  },
  {
    name: "package by a .pth file",
    source: "own",
    essence: "a line in a .pth file keeps a shared page before anything else is imported",
    containment: "no execution sees the input of another",
    ways: ["any"],
    wage: betray({ "evil.pth": "import evil\n", ...evil("shared_memory") }),
    control: { without: "the host's look at shared mappings", sources: SHARED_UNSEEN },
  },
  {
    name: "package that listens",
    source: "own",
    essence:
      "listens on an abstract socket in the zygote; forks tell it their inputs, a timer reads them, forks inherit them",
    containment: "no execution sees the input of another",
    ways: ["any"],
    wage: betray(evil("listener")),
    control: { without: "the host's look at descriptors", sources: DESCRIPTORS_UNSEEN },
  },
  {
    name: "package with a pipe",
    source: "own",
    essence: "keeps a pipe through every fork by patching the function that closes descriptors",
    containment: "no execution sees the input of another",
    ways: ["any"],
    wage: betray(evil("pipe")),
    control: { without: "the host's look at descriptors", sources: DESCRIPTORS_UNSEEN },
  },
  {
    name: "package with a process",
    source: "own",
    essence: "leaves a process beside the zygote that keeps what it is told",
    containment: "no execution sees the input of another",
    ways: ["any"],
    wage: betray(evil("helper_process")),
    control: {
      without: "the host's look at processes and descriptors",
      sources: [
        ...DESCRIPTORS_UNSEEN,
        { file: GUARD, from: "if (others.length > 0 || more.length > 0)", to: "if (others.length > 9)" },
        {
          file: GUARD,
          from: "const [first, ...others] = listLiving(zygote);",
          to: "const [first, ...others] = listLiving(zygote).reverse();",
        },
      ],
    },
  },
  {
    name: "package that unlocks",
    source: "own",
    essence: "from the second fork on, leaves it its capabilities and without the filter of executions",
    containment: "no execution has a capability",
    ways: ["any"],
    wage: useTwice("unlocked"),
    control: { without: "the host's look at each fork's confinement", sources: UNCONFINED },
  },
  {
    name: "package that uncovers",
    source: "own",
    essence: "from the second fork on, leaves the lane's folder uncovered",
    containment: "no execution can list it",
    ways: ["any"],
    wage: useTwice("uncovered"),
    control: { without: "the host's look at each fork's confinement", sources: UNCONFINED },
  },
  {
    name: "package that exchanges outputs",
    source: "own",
    essence: "keeps the folder of outputs open and puts links to files of the host in it once the execution is over",
    containment: "the outputs stay the files they were",
    ways: ["any"],
    wage: async ({ post, lookFor }) => {
      const own = await post("uses_package", { packages: evil("outputs_folder"), finishes: false });
      const results = [await own.run(), await own.run()];
      return lookFor(() =>
        results.flatMap(({ ran }) =>
          ran.outputs
            .filter(({ path }) => lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() !== false)
            .map(({ fileName }) => `${fileName} is a link, or gone`),
        ),
      );
    },
    control: { without: "the host's look at descriptors", sources: DESCRIPTORS_UNSEEN },
  },
  {
    name: "package that takes all while it is imported",
    source: "own",
    essence: "takes memory and processes at import, in the zygote, where no execution is counted yet",
    containment: "it gets no more than an execution may have",
    ways: ["any"],
    wage: async ({ post, scene }) => {
      const name = scene.newName();
      const packages = { "evil.py": read("import_hog").replace("NAME", name) };
      const most = { processes: 0, bytes: 0 };
      const timer = setInterval(() => {
        const pids = findByName(name);
        most.processes = Math.max(most.processes, ...countBySandbox(pids));
        most.bytes = Math.max(most.bytes, ...pids.map((pid) => measureMemoryBytes([pid])));
      }, 20);
      await (await post("uses_package", { packages, finishes: false, limits: HOG_LIMITS })).run();
      clearInterval(timer);
      return [
        ...(most.processes > HOG_BOUNDS.processes ? [`${most.processes} processes`] : []),
        ...(most.bytes > HOG_BOUNDS.bytes ? [`${Math.round(most.bytes / MIB)} MiB`] : []),
      ];
    },
    control: { without: "limits below it", limits: { memoryBytes: 1024 * 1024 * 1024, processes: 200 } },
  },
];

/** A lane that was ended may still be dying while the execution begins cold: each has its own limits. */
function countBySandbox(pids: readonly number[]): number[] {
  const counts = new Map<string, number>();
  for (const pid of pids) {
    try {
      const namespace = readlinkSync(`/proc/${pid}/ns/pid`);
      counts.set(namespace, (counts.get(namespace) ?? 0) + 1);
    } catch {
      // It is gone.
    }
  }
  return [...counts.values()];
}

function useTwice(name: string) {
  return async ({ post }: Siege): Promise<readonly string[]> => {
    const own = await post("uses_package", { packages: evil(name), finishes: false });
    const loot = [];
    for (let round = 0; round < 3; round++) {
      loot.push(...(await own.run()).loot);
      await sleep(30);
    }
    return loot;
  };
}
