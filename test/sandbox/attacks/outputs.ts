// Attacks by what is left in the outputs folder: the one place that a program writes and the service reads.
import { execFileSync } from "node:child_process";
import { existsSync, lstatSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Ran } from "../../runner/harness.ts";
import { endByName, LONE_SURROGATE } from "./scene.ts";
import type { Attack } from "./siege.ts";
import { NO_PROCESS_NAMESPACE } from "./weaken.ts";

const BOTH = ["cold", "lane"] as const;
/** What leads out of a folder. All else that a file system takes for a name is one, and comes out as it is. */
const LEADING_OUT = /(^|\/)\.{0,2}(\/|$)/u;

/** Outputs that are no plain file of one name, or that hold the host's secret. */
function findForeign(ran: Ran, secret: string): string[] {
  return ran.outputs.flatMap(({ fileName, path, content }) => {
    if (content !== undefined) return content.includes(secret) ? [`${fileName} holds the secret`] : [];
    const stats = lstatSync(path, { throwIfNoEntry: false });
    if (stats === undefined) return [`${fileName} has vanished`]; // Somebody still has a hand on it.
    if (!stats.isFile()) return [`${fileName} is no plain file`];
    if (stats.nlink !== 1) return [`${fileName} has ${stats.nlink} names`];
    return stats.size < 1_000_000 && readFileSync(path, "latin1").includes(secret)
      ? [`${fileName} holds the secret`]
      : [];
  });
}

export const OUTPUT_ATTACKS: readonly Attack[] = [
  {
    name: "links among the outputs",
    source: "41",
    essence: "leaves symbolic links to a file of the host, to /proc, to folders, to each other",
    containment: "none is an output, and nothing of the host is in one",
    ways: BOTH,
    wage: async ({ run, scene }) => {
      const inputs = { folder: scene.folder };
      const files = await run("output_links", { inputs });
      const held = await run("output_links", { inputs, heldBytesMax: 65_536 });
      return [files, held].flatMap(({ ran }) => findForeign(ran, scene.secret));
    },
    control: {
      without: "looking at the link instead of what it leads to",
      sources: [
        {
          file: "sandbox/outputs.ts",
          from: "const stats = lstatSync(path);",
          to: "const stats = statSync(path, { throwIfNoEntry: false }) ?? lstatSync(path);",
        },
        { file: "sandbox/outputs.ts", from: "import { chmodSync, ", to: "import { statSync, chmodSync, " },
        { file: "sandbox/outputs.ts", from: "    chmodSync(path, 0o600);", to: "" },
      ],
    },
  },
  {
    name: "oddities among the outputs",
    source: "42",
    essence: "leaves a pipe, a socket, a file with two names, a tree of forty folders",
    containment: "none is an output, and nobody waits for the pipe",
    ways: BOTH,
    wage: async ({ run, scene }) => {
      const { ran } = await run("output_oddities", { finishes: false }); // It may be ended for its folders.
      const deep = ran.outputs
        .filter(({ fileName }) => fileName.split("/").length > 20)
        .map(({ fileName }) => fileName);
      const slow = ran.elapsedMs > 30_000 ? [`it took ${ran.elapsedMs} ms`] : [];
      return [...findForeign(ran, scene.secret), ...deep, ...slow];
    },
    control: {
      without: "the refusal of files with several names and of deep folders",
      sources: [
        { file: "sandbox/outputs.ts", from: 'if (stats.nlink !== 1) return "a hard link";', to: "" },
        { file: "sandbox/outputs.ts", from: "const DEPTH_MAX = 16;", to: "const DEPTH_MAX = 160;" },
      ],
    },
  },
  {
    name: "names of outputs",
    source: "43",
    essence: "names files with line ends, backslashes, control characters, characters that turn text around, no UTF-8",
    containment: "every name that comes out is text, and leads nowhere",
    ways: BOTH,
    wage: async ({ run }) => {
      const { ran } = await run("output_names");
      const names = ran.outputs.flatMap(({ name, fileName }) => [name, fileName]);
      return [...new Set(names.filter((name) => LEADING_OUT.test(name) || LONE_SURROGATE.test(name)))].map((name) =>
        JSON.stringify(name),
      );
    },
    control: {
      without: "names of dots keeping all of them",
      sources: [
        {
          file: "sandbox/outputs.ts",
          from: "return /^\\.*$/.test(stem) ? fileName : stem;",
          to: "return stem;",
        },
      ],
    },
  },
  {
    name: "another folder in place of the outputs",
    source: "45",
    essence: "removes, renames and replaces the outputs folder",
    containment: "it stays where it is",
    ways: BOTH,
    wage: async ({ run }) => (await run("outputs_elsewhere")).loot,
    control: {
      without: "the mount: a link leads to the folder",
      isolation: "none",
      limits: { processes: 1000 },
    },
  },
  {
    name: "outputs exchanged while they are collected",
    source: "own",
    essence: "processes that outlive the program exchange an output for a link to a file of the host, over and over",
    containment: "they are dead before anything is looked at: the output is the file it was",
    ways: BOTH,
    wage: async ({ run, scene, lookFor, isControl }) => {
      const name = scene.newName();
      try {
        const { ran } = await run("output_race", { inputs: { name, folder: scene.folder } });
        return await lookFor(() => findForeign(ran, scene.secret));
      } catch (error) {
        if (!isControl || (error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
        return ["an output vanished while it was collected"];
      } finally {
        endByName(name);
      }
    },
    control: { without: "a process namespace, whose end is theirs", bubblewrap: NO_PROCESS_NAMESPACE },
  },
  {
    name: "archives among the outputs",
    source: "65",
    essence: "leaves an archive with a member that climbs out of its folder, and one that grows a thousandfold",
    containment: "they come out as they are: nothing unpacks them",
    ways: BOTH,
    wage: async ({ run, scene, inOne }) => {
      const name = scene.newName();
      const { ran } = await run("archives", { inputs: { name } });
      const archive = ran.outputs.find(({ fileName }) => fileName === "climbing.tar");
      if (archive === undefined) throw new Error("The archive did not come out.");
      const folder = dirname(archive.path);
      if (inOne) unpack(archive.path, join(folder, "unpacked"));
      const bytes = ran.outputs.reduce((sum, output) => sum + output.bytes, 0);
      const found = [folder, dirname(folder)].filter((place) => existsSync(join(place, name)));
      return [...found, ...(bytes > 1_000_000 ? [`${bytes} bytes`] : [])];
    },
    control: { without: "leaving archives alone: the test unpacks them itself", inOne: true },
  },
  {
    name: "results that are no JSON",
    source: "48, 49",
    essence: "returns NaN, Infinity, a list nested a hundred thousand times",
    containment: "what JSON lacks is null, or the execution fails and says why; every output is JSON",
    ways: BOTH,
    wage: async ({ post }) => {
      const own = await post("no_json", { inputs: { which: "nan" } });
      const results = [];
      for (const [which, expected] of [
        ["nan", '{"x": null}'],
        ["infinity", "[null]"],
        ["deep", undefined],
      ] as const) {
        const { ran } = await own.run({ inputs: { which } });
        if ((ran.outcome.status === "failed") !== (which === "deep") || ran.texts.value !== expected)
          results.push(`${which}: ${ran.texts.value}`);
      }
      return results;
    },
    control: {
      without: "null for what JSON lacks, and the encoder's own check",
      sources: [
        { file: "runner/_treadle_outputs.py", from: "return value != value or value in INFINITE", to: "return False" },
        { file: "runner/_treadle_outputs.py", from: '", ", False, False, False)', to: '", ", False, False, True)' },
      ],
    },
  },
];

function unpack(archive: string, folder: string): void {
  const code = "import os, sys, tarfile; os.mkdir(sys.argv[2]); tarfile.open(sys.argv[1]).extractall(sys.argv[2])";
  execFileSync("/usr/bin/python3", ["-W", "ignore", "-c", code, archive, folder]);
}
