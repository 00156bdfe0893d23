// Takes defences away from outside: nothing in the sandbox's own code helps with it.
import { chmodSync, cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { SandboxDeps, SandboxLimits } from "../../../sandbox/sandbox.ts";
import { makeFolder } from "../../runner/folders.ts";
import { type Bench, LANES, LIMITS, openBench } from "../../runner/harness.ts";

const PROJECT = fileURLToPath(new URL("../../..", import.meta.url));
/** What a weakened copy of the sandbox is made of. */
const COPIED = [
  "system/ignore-missing.ts",
  "system/process-exists.ts",
  "system/with-timeout.ts",
  "domain",
  "sandbox",
  "system/trees",
  "runner",
  "test/runner/folders.ts",
  "test/runner/harness.ts",
  "src/setup/sandbox-ids.ts",
  "package.json",
];

/** What gives cgroups and lanes their numbers. */
const COUNTERS = [
  ["bubblewrap-pool.ts", "let startedBefore"],
  ["cold-launch.ts", "let unprotectedBefore"],
  ["lanes/lane.ts", "let lanesBefore"],
] as const;
let copies = 0;

/** Stands for the scene's folder, which is not known before the attack is carried out. */
export const SCENE_FOLDER = "{scene folder}";

/** What bubblewrap is told differently, by a program that stands in its place. */
export interface BubblewrapEdits {
  /** Sequences of arguments, and what takes their place. */
  readonly replace?: readonly (readonly [from: readonly string[], to: readonly string[]])[];
  /** Arguments of the sandbox, added before all others. */
  readonly add?: readonly string[];
  /** The same, after all others. */
  readonly append?: readonly string[];
  /** Leaves out `--seccomp`. */
  readonly noFilter?: boolean;
  /** Arguments of the interpreter that are left out. */
  readonly withoutFlags?: readonly string[];
  /** Fails the trial of a bubblewrap in a bubblewrap, so that one does it all. */
  readonly unstaged?: boolean;
  /** A folder that is left open for whoever is started. */
  readonly leak?: string;
}

/** One place of the sources, which must be there exactly once, and what a weakened copy has instead. */
export interface Patch {
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

/** All namespaces but that of processes, whose end would be the end of all of them. */
export const NO_PROCESS_NAMESPACE: BubblewrapEdits = {
  unstaged: true,
  replace: [
    [["--unshare-all"], ["--unshare-ipc", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"]],
    [
      ["--proc", "/proc"],
      ["--bind", "/proc", "/proc"],
    ],
    [["--disable-userns"], []],
  ],
};

export interface Weakening {
  readonly isolation?: "none";
  readonly bubblewrap?: BubblewrapEdits;
  readonly sources?: readonly Patch[];
  /** Limits of the attack's executions, in place of what it asks for. */
  readonly limits?: Partial<SandboxLimits>;
  /** Both parts of the attack in one execution: no boundary between them. */
  readonly inOne?: boolean;
}

/** A user that no other tests use, so that an attack that gets out meets nobody. */
export const SIEGE_USER = { uid: 64_331, gid: 64_331 };
const GIB = 1024 ** 3;
const CEILINGS: SandboxLimits = {
  ...LIMITS,
  timeoutSeconds: 60,
  processes: 1_024,
  openFiles: 4_096,
  memoryBytes: 8 * GIB,
  fileBytesMax: 4096 * GIB,
  scratchBytes: GIB,
  outputBytesMax: 8192 * GIB,
  outputFilesMax: 20_000,
  logBytesMax: GIB,
};

/** A bench whose sandbox lacks what the weakenings take away; with lanes where they are asked for. */
export async function openWeakened(weakenings: readonly Weakening[], withLanes: boolean): Promise<Bench> {
  const change: { -readonly [Key in keyof SandboxDeps]?: SandboxDeps[Key] } = { limits: CEILINGS };
  if (process.getuid?.() === 0) change.runAs = SIEGE_USER;
  if (weakenings.some(({ isolation }) => isolation === "none")) change.isolation = "none";
  const wrappers = makeFolder("weakened");
  // What is left without a defence shows only where sandboxes are not other users than their surroundings, too.
  if (weakenings.some(({ isolation, bubblewrap, sources }) => isolation ?? bubblewrap ?? sources))
    change.users = undefined;
  const edits = weakenings.flatMap(({ bubblewrap }) => bubblewrap ?? []);
  if (edits.length > 0) change.bwrapPath = writeWrapper(join(wrappers, "bwrap"), mergeEdits(edits));
  const patches = weakenings.flatMap(({ sources }) => sources ?? []);
  const open = patches.length === 0 ? openBench : await loadPatched(wrappers, patches);
  const bench = await open({ ...change, ...(withLanes ? { lanes: { dir: "", ...LANES } } : {}) });
  const close = async () => {
    await bench.close();
    rmSync(wrappers, { recursive: true, force: true });
  };
  return { ...bench, close };
}

function mergeEdits(edits: readonly BubblewrapEdits[]): BubblewrapEdits {
  return {
    ...Object.assign({}, ...edits),
    replace: edits.flatMap(({ replace }) => replace ?? []),
    add: edits.flatMap(({ add }) => add ?? []),
    append: edits.flatMap(({ append }) => append ?? []),
  };
}

/** A copy of the sandbox with some places changed; its bench is opened like the real one. */
async function loadPatched(folder: string, patches: readonly Patch[]): Promise<typeof openBench> {
  for (const path of COPIED) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    cpSync(join(PROJECT, path), join(folder, path), { recursive: true });
  }
  for (const { file, from, to } of patches) {
    const path = join(folder, file);
    const text = readFileSync(path, "utf8");
    if (text.split(from).length !== 2) {
      throw new Error(`A control changes ${file}, which does not have this exactly once any more: ${from}`);
    }
    writeFileSync(
      path,
      text.replace(from, () => to),
    );
  }
  makeNamesUnique(folder);
  const harness = (await import(join(folder, "test/runner/harness.ts"))) as { openBench: typeof openBench };
  return harness.openBench;
}

/** Copies live in one process, and each of them counts its cgroups and lanes from one. */
function makeNamesUnique(folder: string): void {
  copies += 1;
  for (const [file, counter] of COUNTERS) {
    const path = join(folder, "sandbox", file);
    const text = readFileSync(path, "utf8");
    if (!text.includes(`${counter} = 0;`)) throw new Error(`${file} does not count by ${counter} any more.`);
    writeFileSync(path, text.replace(`${counter} = 0;`, `${counter} = ${copies}000000;`));
  }
}

const WRAPPER = `#!/usr/bin/python3 -ISB
import json, os, sys

EDITS = json.loads(r'''EDITS_JSON''')
argv = sys.argv[1:]


def edit(arguments):
    for old, new in EDITS.get("replace", []):
        for start in range(len(arguments) - len(old), -1, -1):
            if arguments[start : start + len(old)] == old:
                arguments[start : start + len(old)] = new
    return arguments


if EDITS.get("unstaged") and "--args" not in argv:
    sys.exit(1)
if "--args" in argv:
    place = argv.index("--args") + 1
    text = b""
    while chunk := os.read(int(argv[place]), 1 << 16):
        text += chunk
    if not text:
        sys.exit(1)
    arguments = edit([each.decode() for each in text.split(b"\\0")[:-1]])
    if "--seccomp" in argv and argv.index("--seccomp") < (argv.index("--") if "--" in argv else 99):
        arguments = EDITS.get("add", []) + arguments + EDITS.get("append", [])
        if EDITS.get("noFilter"):
            at = argv.index("--seccomp")
            del argv[at : at + 2]
        argv = [each for each in argv if each not in EDITS.get("withoutFlags", [])]
    place = argv.index("--args") + 1
    descriptor = os.memfd_create("arguments", 0)
    os.write(descriptor, b"".join(each.encode() + b"\\0" for each in arguments))
    os.lseek(descriptor, 0, 0)
    argv[place] = str(descriptor)
    if EDITS.get("leak"):
        os.dup2(os.open(EDITS["leak"], os.O_RDONLY), 77)
os.execv("/usr/bin/bwrap", ["bwrap", *argv])
`;

function writeWrapper(path: string, edits: BubblewrapEdits): string {
  writeFileSync(
    path,
    WRAPPER.replace("EDITS_JSON", () => JSON.stringify(edits)),
  );
  chmodSync(path, 0o755);
  return path;
}
