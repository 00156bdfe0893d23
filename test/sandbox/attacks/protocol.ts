// Attacks on what is between host and runner: the control descriptor, the streams, the clock, the verdict.
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { endByName, findByName, LONE_SURROGATE } from "./scene.ts";
import type { Attack, Siege } from "./siege.ts";
import { NO_PROCESS_NAMESPACE } from "./weaken.ts";

const BOTH = ["cold", "lane"] as const;
const SECONDS = 0.5;
const TRIES_MAX = 5;
/** What `main` may call an output, in the words of the contract. */
const OUTPUT_NAME = /^(?!\.+$)[^\p{Cc}\\/]{1,200}$/u;
const SUPERVISION = "sandbox/supervision.ts";
const CONTROL = "sandbox/control.ts";

/**
 * Returns bills that are too low. A busy machine makes single ones wrong both ways: what the service does not notice for want
 * of a processor, it does not bill, and an end that it sees late costs more. So the attack is tried until one bill is as it
 * is expected to be: right, or in a control too low.
 */
async function billSeconds(siege: Siege, execute: () => Promise<number>): Promise<string[]> {
  const low: string[] = [];
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const seconds = await execute();
    if (seconds < SECONDS) low.push(`${seconds} s`);
    if (siege.isControl === seconds < SECONDS) return siege.isControl ? low : [];
  }
  return siege.isControl ? [] : low;
}

export const PROTOCOL_ATTACKS: readonly Attack[] = [
  {
    name: "forged end",
    source: "50, 53",
    essence: "reports success on the control descriptor and exits with code 9",
    containment: "the exit code counts",
    ways: BOTH,
    wage: async ({ run }) => {
      const { ran } = await run("forged_end");
      return ran.outcome.status === "success" ? ["a success"] : [];
    },
    control: {
      without: "believing the exit code first",
      sources: [
        {
          file: "sandbox/outcome.ts",
          from: "  if (exitCode === 0) {\n",
          to: "  if (reported?.code === 0) return undefined;\n  if (exitCode === 0) {\n",
        },
      ],
    },
  },
  {
    name: "end inside main",
    source: "53",
    essence: "leaves main by os._exit(0), without a result; says that it was a script",
    containment: "no success: main has not returned",
    ways: BOTH,
    wage: async ({ post }) => {
      const own = await post("early_return", { inputs: { lie: "none" } });
      const results = [await own.run({ inputs: { lie: "none" } }), await own.run({ inputs: { lie: "mode" } })];
      return results.filter(({ ran }) => ran.outcome.status === "success").map(() => "a success");
    },
    control: {
      without: "the demand that main returns",
      sources: [{ file: "sandbox/outcome.ts", from: 'mode === "script" || reported !== undefined', to: "true" }],
    },
  },
  {
    name: "clock set back",
    source: "51",
    essence: `works for ${SECONDS} s and says again and again that it has just started, is ready, has ended`,
    containment: "the seconds that are billed are those it took",
    ways: BOTH,
    wage: (siege) =>
      billSeconds(siege, async () => {
        const { ran } = await siege.run("forged_clock", { inputs: { seconds: SECONDS } });
        return ran.outcome.secondsUsed;
      }),
    control: {
      without: "the clock starting once only",
      sources: [
        {
          file: SUPERVISION,
          from: "if (course.startedAtMs !== undefined || course.processes.length === 0) return;",
          to: "if (course.processes.length === 0) return;",
        },
      ],
    },
  },
  {
    name: "work done by others",
    source: "51, 60",
    essence: "has its work done by orphaned processes",
    containment: "the seconds that are billed are those it took",
    ways: BOTH,
    wage: (siege) =>
      billSeconds(siege, async () => {
        const { ran } = await siege.run("work_in_children", { inputs: { seconds: SECONDS } });
        // The processor time of the main process is what a meter by wait4 would show.
        return siege.inOne ? 0.05 : ran.outcome.secondsUsed;
      }),
    control: { without: "wall time: by the processor time of the main process", inOne: true },
  },
  {
    name: "streams of its own choice",
    source: "own",
    essence: "says that it is ready once more and offers folders, files and pipes as its streams",
    containment: "the host reads its streams and nothing else",
    ways: BOTH,
    wage: async ({ run }) => {
      const { ran } = await run("forged_ready", { inputs: { seconds: 0.05 } });
      const lines = ran.log.map(({ text }) => text);
      return lines
        .filter((text) => text !== "the end")
        .concat(lines.includes("the end") ? [] : ["its streams are lost"]);
    },
    control: {
      way: "cold",
      without: "being ready once only, with pipes only",
      sources: [
        {
          file: SUPERVISION,
          from: "if (course.processes.length === 0) letGo(course, [event.stdout, event.stderr]);",
          to: "letGo(course, [event.stdout, event.stderr]);",
        },
      ],
    },
  },
  {
    name: "flood of events",
    source: "52, 66",
    essence: "sends lines of 300 KB, lines that are no JSON, 400,000 events and 8 MB without an end",
    containment:
      "the host drops what is too long or malformed, and reads no more events than 4 MB hold and time allows",
    ways: BOTH,
    wage: async ({ run }) => {
      const { ran } = await run("control_flood", { inputs: { times: 4_000 } });
      const long = ran.progress.filter(({ message }) => message.length > 200).length;
      return ran.progress.length > 150_000 || long > 0 ? [`${ran.progress.length} events, ${long} of them long`] : [];
    },
    control: {
      without: "the bound of bytes",
      sources: [{ file: CONTROL, from: "const TOTAL_BYTES_MAX = 4 *", to: "const TOTAL_BYTES_MAX = 400 *" }],
    },
  },
  {
    name: "forged names of outputs",
    source: "own",
    essence: "names outputs by events: paths, NUL, half surrogates, 20 KB, files of the host",
    containment: "every output is one of its own files, under a name that main could have given",
    ways: BOTH,
    wage: async ({ run }) => {
      const { ran } = await run("forged_outputs");
      const folder = dirname(ran.outputs[0]?.path ?? "");
      return ran.outputs
        .filter(({ name, path }) => !OUTPUT_NAME.test(name) || LONE_SURROGATE.test(name) || dirname(path) !== folder)
        .map(({ name }) => JSON.stringify(name).slice(0, 100));
    },
    control: {
      without: "the check of names",
      sources: [
        { file: CONTROL, from: "return isOutputName(fields.name) &&", to: 'return typeof fields.name === "string" &&' },
      ],
    },
  },
  {
    name: "forged lines of the log",
    source: "47",
    essence: "prints lines of JSON, quotes, NUL, carriage returns, separators, half surrogates, server-sent events",
    containment: "each stays text of its own line, on the stream it was printed to",
    ways: BOTH,
    wage: async ({ run }) => {
      const { ran } = await run("log_lines");
      const raw = readFileSync(join(dirname(dirname(ran.outputs[0]?.path ?? "")), "log.ndjson"), "utf8");
      const lines = raw.split("\n").filter(Boolean);
      const isSound = (line: string, index: number) => {
        const parsed = tryParse(line);
        return (
          parsed?.id === index + 1 &&
          parsed.stream === "stdout" &&
          !parsed.text.includes("\0") &&
          !LONE_SURROGATE.test(parsed.text)
        );
      };
      return [
        ...lines.filter((line, index) => !isSound(line, index)),
        ...(lines.length === 11 ? [] : [`${lines.length} lines`]),
      ];
    },
    control: {
      without: "taking out NUL",
      sources: [{ file: "sandbox/log.ts", from: 'text: text.replaceAll("\\0", "\\ufffd"),', to: "text," }],
    },
  },
  {
    name: "descriptors sent to the service",
    source: "own",
    essence: "sends 200 open files over the socket that leads to the service",
    containment: "the service holds not one more descriptor",
    ways: BOTH,
    wage: async ({ run, inOne }) => {
      const count = () => readdirSync("/proc/self/fd").length;
      const before = count();
      const { ran } = await run("sent_descriptors", { inputs: { numbers: [3, 1, 2] } });
      await sleep(20);
      // Without a program that takes them there is nothing to see: the control is that they were sent at all.
      if (inOne) return [ran.stdout];
      return count() > before + 40 ? [`${count() - before} descriptors more`] : [];
    },
    control: { without: "a service that takes no descriptors: what was sent counts", inOne: true },
  },
  {
    name: "forged verdict",
    source: "own",
    essence: "looks for the pipe by which process 1 of its lane tells how it ended, writes success, and exits with 9",
    containment: "it finds none: its execution failed",
    ways: BOTH,
    wage: async ({ run }) => {
      const { ran, loot } = await run("forged_verdict", { finishes: false });
      return ran.outcome.status === "success" ? [...loot, "a success"] : loot;
    },
    control: {
      way: "lane",
      without: "a process 1 that nobody can look into",
      sources: [
        {
          file: "runner/_treadle_fork.py",
          from: "libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)",
          to: "libc.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)",
        },
      ],
    },
  },
  {
    name: "closed streams",
    source: "own",
    essence: "closes every descriptor, ends, and leaves a process that goes on",
    containment: "the execution is over at once, and so is the process",
    ways: BOTH,
    wage: async ({ run, scene }) => {
      const name = scene.newName();
      const { ran, loot } = await run("closed_streams", { inputs: { name, seconds: 15 } });
      const alive = findByName(name).map((pid) => `process ${pid}`);
      endByName(name);
      return [...loot, ...alive, ...(ran.outcome.status === "timed_out" ? ["it had to be stopped"] : [])];
    },
    control: { without: "a process namespace, whose end is theirs", bubblewrap: NO_PROCESS_NAMESPACE },
  },
];

function tryParse(line: string): { id: number; stream: string; text: string } | undefined {
  try {
    return JSON.parse(line) as { id: number; stream: string; text: string };
  } catch {
    return undefined;
  }
}
