// Attacks on the machine's resources. In most controls the limit is there, but far away: so it is this limit that holds.
import { setTimeout as sleep } from "node:timers/promises";
import type { Ran } from "../../runner/harness.ts";
import { endByName, findByName } from "./scene.ts";
import type { AssaultOptions, Attack, Siege } from "./siege.ts";
import { NO_PROCESS_NAMESPACE } from "./weaken.ts";

const MIB = 1024 * 1024;
const BOTH = ["cold", "lane"] as const;
const ENOUGH = 60;

/** What goes on when an execution is over. It is ended here, so that it is nobody's in the next attack. */
async function findSurvivors(name: string): Promise<string[]> {
  await sleep(20);
  const pids = findByName(name);
  endByName(name);
  return pids.map((pid) => `process ${pid} lives on`);
}

const memoryAttack = (kind: string, essence: string): Attack => ({
  name: `memory, ${kind}`,
  source: kind === "heap" ? "32" : "61",
  essence,
  containment: "ended as out_of_memory, or refused the memory, before it has it all",
  ways: BOTH,
  wage: async ({ run }) => {
    const { loot } = await run("memory_bomb", {
      inputs: { kind, mib: 240 },
      limits: { memoryBytes: 96 * MIB, scratchBytes: 96 * MIB },
      finishes: false,
    });
    return loot;
  },
  control: { without: "a limit below it", limits: { memoryBytes: 1024 * MIB, scratchBytes: 512 * MIB } },
});

const counted =
  (program: string, options: AssaultOptions) =>
  async ({ run, scene }: Siege): Promise<readonly string[]> => {
    const name = scene.newName();
    const { loot } = await run(program, { ...options, inputs: { name, enough: ENOUGH } });
    return [...loot, ...(await findSurvivors(name))];
  };

const measureLog = (ran: Ran, bytes: number): string[] => {
  const kept = ran.log.reduce((sum, line) => sum + line.text.length, 0);
  return kept > bytes * 1.1 || !ran.logTruncated ? [`${kept} characters of log`] : [];
};

export const RESOURCE_ATTACKS: readonly Attack[] = [
  {
    name: "fork bomb",
    source: "31",
    essence: "forks without end",
    containment: "stops at the limit of processes; nothing of it is left on the host",
    ways: BOTH,
    wage: counted("fork_bomb", { limits: { processes: 24 } }),
    control: { without: "a limit below it", limits: { processes: 200 } },
  },
  {
    name: "thread bomb",
    source: "own",
    essence: "starts threads without end",
    containment: "stops at the limit of processes, which counts threads",
    ways: BOTH,
    wage: counted("thread_bomb", { limits: { processes: 24 } }),
    control: { without: "a limit below it", limits: { processes: 200 } },
  },
  memoryAttack("heap", "takes memory of its own"),
  memoryAttack("shared", "takes anonymous shared memory, which no address space limit of one process counts well"),
  memoryAttack("memfd", "takes memory in files without a name"),
  memoryAttack("files", "takes memory in the files of its scratch folders"),
  memoryAttack("children", "takes memory in several processes, each of them within bounds"),
  {
    name: "full scratch folders",
    source: "33",
    essence: "fills /tmp, /app and /dev/shm",
    containment: "each ends at its own limit",
    ways: BOTH,
    wage: async ({ run }) =>
      (await run("full_disks", { inputs: { mib: 24 }, limits: { scratchBytes: 16 * MIB } })).loot,
    control: { without: "a limit below it", limits: { scratchBytes: 64 * MIB } },
  },
  {
    name: "files without content",
    source: "34",
    essence: "makes empty files without end: no bytes, but the kernel's memory",
    containment: "refused or ended before there are very many",
    ways: BOTH,
    wage: async ({ run, way }) =>
      (
        await run("empty_files", {
          inputs: { enough: way === "cold" ? 400_000 : 40_000 },
          limits: { memoryBytes: 1024 * MIB },
          finishes: false,
        })
      ).loot,
    control: {
      way: "lane",
      without: "a limit of inodes in a lane's scratch folders",
      sources: [{ file: "runner/_treadle_fork.py", from: "nr_inodes=%d,", to: "nr_inodes=1%d," }],
    },
  },
  {
    name: "sparse file",
    source: "35",
    essence: "makes an output of a tebibyte that takes no room on the disk",
    containment: "refused by the limit of a file's size",
    ways: BOTH,
    wage: async ({ run }) => (await run("sparse_file")).loot,
    control: {
      without: "a limit below it",
      limits: { fileBytesMax: 2 * 1024 * 1024 * MIB, outputBytesMax: 4 * 1024 * 1024 * MIB },
    },
  },
  {
    name: "descriptors without end",
    source: "36",
    essence: "opens files without end",
    containment: "stops at the limit of open files",
    ways: BOTH,
    wage: async ({ run }) => (await run("open_files", { inputs: { enough: 100 }, limits: { openFiles: 64 } })).loot,
    control: { without: "a limit below it", limits: { openFiles: 256 } },
  },
  {
    name: "code that will not end",
    source: "38",
    essence: "ignores every signal, works without pause, has children in sessions of their own",
    containment: "ended with all of its children when its time is over",
    ways: BOTH,
    wage: async ({ run, scene }) => {
      const name = scene.newName();
      const { loot, ran } = await run("never_ends", {
        inputs: { name, seconds: 4 },
        limits: { timeoutSeconds: 0.5 },
        finishes: false,
      });
      const late = ran.outcome.status === "timed_out" ? [] : [`it ended as ${ran.outcome.status}`];
      return [...loot, ...late, ...(await findSurvivors(name))];
    },
    control: { without: "a limit below it", limits: { timeoutSeconds: 20 } },
  },
  {
    name: "daemons",
    source: "39, 40",
    essence: "leaves processes in sessions of their own, which hold the streams open and write outputs",
    containment: "the execution ends with its main process, and they with it",
    ways: BOTH,
    wage: async ({ run, scene }) => {
      const name = scene.newName();
      const { loot, ran } = await run("daemons", { inputs: { name } });
      const late = Object.keys(ran.texts).filter((output) => output.startsWith("late"));
      return [...loot, ...late, ...(await findSurvivors(name))];
    },
    control: {
      without: "a process namespace, whose end is theirs",
      bubblewrap: NO_PROCESS_NAMESPACE,
    },
  },
  {
    name: "flood of text",
    source: "46",
    essence: "prints 60 MB on both streams, empty lines among them",
    containment: "the log is cut at its limit, says so, and the program goes on",
    ways: BOTH,
    wage: async ({ run }) => {
      const { ran } = await run("log_flood", { inputs: { mib: 30 }, limits: { logBytesMax: 200_000 } });
      return measureLog(ran, 200_000);
    },
    control: { without: "a limit below it", limits: { logBytesMax: 100 * MIB } },
  },
  {
    name: "flood of outputs",
    source: "44",
    essence: "makes more outputs than are allowed",
    containment: "fails, with no more than the allowed outputs",
    ways: BOTH,
    wage: async ({ run }) => {
      const { ran } = await run("output_flood", { inputs: { files: 200, mib: 0 }, finishes: false });
      const failed = ran.outcome.status === "failed" && ran.outputs.length <= 50;
      return failed ? [] : [`${ran.outcome.status} with ${ran.outputs.length} outputs`];
    },
    control: { without: "a limit below it", limits: { outputFilesMax: 1_000 } },
  },
  {
    name: "mountain of outputs",
    source: "44",
    essence: "makes larger outputs than are allowed",
    containment: "fails, with no more than the allowed bytes",
    ways: BOTH,
    wage: async ({ run }) => {
      const { ran } = await run("output_flood", { inputs: { files: 6, mib: 8 }, finishes: false });
      const bytes = ran.outputs.reduce((sum, output) => sum + output.bytes, 0);
      return ran.outcome.status === "failed" && bytes <= 32 * MIB ? [] : [`${ran.outcome.status} with ${bytes} bytes`];
    },
    control: { without: "a limit below it", limits: { outputBytesMax: 100 * MIB } },
  },
  {
    name: "message of 10 MB",
    source: "54",
    essence: "raises an exception with a text of 10 MB",
    containment: "its message is cut, before it leaves the sandbox and after",
    ways: BOTH,
    wage: async ({ run }) => {
      const { ran } = await run("long_message", { finishes: false, limits: { logBytesMax: 10_000 } });
      return ran.outcome.message.length > 4_000 ? [`a message of ${ran.outcome.message.length} characters`] : [];
    },
    control: {
      without: "the three places that cut it",
      sources: [
        { file: "runner/main.py", from: "MESSAGE_CHARS_MAX = 2000", to: "MESSAGE_CHARS_MAX = 20000" },
        { file: "runner/_treadle_failures.py", from: "text[:1600]", to: "text[:16000]" },
        {
          file: "sandbox/control.ts",
          from: "const MESSAGE_CHARS_MAX = 2_000",
          to: "const MESSAGE_CHARS_MAX = 20_000",
        },
        {
          file: "sandbox/outcome.ts",
          from: "const MESSAGE_CHARS_MAX = 4_000",
          to: "const MESSAGE_CHARS_MAX = 40_000",
        },
      ],
    },
  },
];
