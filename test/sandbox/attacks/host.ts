// Attacks on the host's files, processes and services, and on whatever else is on the machine.
import { execFileSync } from "node:child_process";
import { chmodSync, copyFileSync, existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Attack, Post } from "./siege.ts";
import { SCENE_FOLDER } from "./weaken.ts";

const WATCHDOG = "sandbox/watchdog.ts";

const BOTH = ["cold", "lane"] as const;
const NO_ISOLATION = {
  isolation: "none",
  without: "every namespace",
  // Without a namespace of its own, the count is of all processes of the user.
  limits: { processes: 1000 },
} as const;
export const HOST_ATTACKS: readonly Attack[] = [
  {
    name: "files of the host",
    source: "1, 4",
    essence: "reads a world-readable file of the host, devices and homes, by every path through /proc and ..",
    containment: "nothing of it opens; the planted secret is nowhere in what comes out",
    ways: BOTH,
    wage: async ({ run, scene }) => (await run("host_files", { inputs: { folder: scene.folder } })).loot,
    control: NO_ISOLATION,
  },
  {
    name: "environment of the service and of others",
    source: "2",
    essence: "reads every environ and command line in /proc, and the memory of process 1",
    containment: "the secret that service and victim have in their environment is not found",
    ways: BOTH,
    // Half of the secret, so that what the program was given is not taken for what it found.
    wage: async ({ run, scene }) => (await run("environments", { inputs: { half: scene.secret.slice(4, 20) } })).loot,
    control: NO_ISOLATION,
  },
  {
    name: "processes of the host",
    source: "3",
    essence: "lists /proc and asks for pids of the service and of a process of the same user",
    containment: "process 1 and itself are all there is",
    ways: BOTH,
    wage: async ({ run, scene }) =>
      (await run("processes_seen", { inputs: { victim: scene.victim.pid, service: process.pid } })).loot,
    control: NO_ISOLATION,
  },
  {
    name: "descriptors left open",
    source: "5",
    essence: "looks for descriptors that the launcher left open; one leads to a folder of the host",
    containment: "streams and control descriptor are the only ones, although the launcher leaks one",
    ways: BOTH,
    circumstance: { bubblewrap: { leak: SCENE_FOLDER } },
    wage: async ({ run }) => (await run("inherited_descriptors")).loot,
    control: {
      without: "closing what was inherited",
      sources: [
        {
          file: "runner/main.py",
          from: "    posix.closerange(CONTROL_FD + 1, DESCRIPTORS_MAX)\n",
          to: "    posix.closerange(CONTROL_FD + 1, 77)\n",
        },
      ],
    },
  },
  {
    name: "poison for the next execution",
    source: "6",
    essence: "writes into commit, environment, runner, interpreter and every other mount",
    containment: "the folders on the host are as they were, though they are writable for the sandbox's user",
    ways: BOTH,
    wage: async ({ post }) => {
      const own = await post("read_only_places", { packages: { "marker.py": "" } });
      openWide(own);
      const { loot } = await own.run();
      return [...loot, ...findMarks(join(own.commit.commitDir, ".."))];
    },
    control: {
      without: "read-only mounts",
      bubblewrap: {
        replace: [
          [["--ro-bind"], ["--bind"]],
          [["--remount-ro", "/"], []],
          [["--remount-ro", "/dev"], []],
        ],
      },
    },
  },
  {
    name: "marks in every writable place",
    source: "7, 8, 55, 56",
    essence: "the first execution marks whatever it can write, the second looks for marks",
    containment: "the second finds none",
    ways: BOTH,
    wage: async ({ post, scene }) => {
      const own = await post("marks", { inputs: { name: "", plant: true, look: false } });
      const name = scene.newName();
      await own.run({ inputs: { name, plant: true, look: false } });
      return (await own.run({ inputs: { name, plant: false, look: true } })).loot;
    },
    control: NO_ISOLATION,
  },
  {
    name: "start-up files of the interpreter",
    source: "9",
    essence: "leaves usercustomize, sitecustomize and .pth files where an interpreter looks for them",
    containment: "the next interpreter runs none of it",
    ways: BOTH,
    wage: async ({ post, scene }) => {
      process.env.PYTHONPATH = scene.folder; // What the service was started with must not matter either.
      try {
        const own = await post("python_startup", { inputs: { plant: true, look: false } });
        await own.run();
        return (await own.run({ inputs: { plant: false, look: true } })).loot;
      } finally {
        delete process.env.PYTHONPATH;
      }
    },
    control: {
      without: "-I and -S, and a /tmp of each execution's own",
      bubblewrap: { withoutFlags: ["-I", "-S"], append: ["--bind", SCENE_FOLDER, "/tmp"] },
      // A /tmp of the host has all files of its disk, which count as the program's.
      sources: [{ file: WATCHDOG, from: "if (scratch.files > SCRATCH_FILES_MAX)", to: "if (scratch.files < 0)" }],
    },
  },
  {
    name: "services of the host",
    source: "10, 17",
    essence: "connects to the host's loopback, unix socket and abstract socket, in every spelling of the address",
    containment: "the host's servers have not seen a connection",
    ways: BOTH,
    wage: async ({ run, scene }) => {
      const before = scene.connections();
      const inputs = { port: scene.port, folder: scene.folder, socket: scene.socketName };
      const { loot } = await run("host_services", { inputs });
      const seen = scene.connections() - before;
      return seen > 0 ? [...loot, `${seen} connections`] : loot;
    },
    control: NO_ISOLATION,
  },
  {
    name: "set-uid programs",
    source: "24",
    essence: "runs the system's set-uid programs, and a set-uid root program from its own commit",
    containment: "none gives any right",
    ways: BOTH,
    wage: async ({ post, scene }) => {
      const own = await post("set_uid", { inputs: { folder: scene.folder } });
      const id = join(own.commit.commitDir, "id");
      copyFileSync("/usr/bin/id", id);
      chmodSync(id, process.getuid?.() === 0 ? 0o4755 : 0o755);
      return (await own.run()).loot;
    },
    control: { ...NO_ISOLATION, asRootOnly: true },
  },
  {
    name: "signals to others",
    source: "29",
    essence: "stops and kills process 1, its parent, the service, a process of the same user and everybody",
    containment: "its execution is reported as it was, and the other process lives",
    ways: BOTH,
    wage: async ({ run, scene, bench, lookFor }) => {
      const all = bench.settings.isolation !== "none";
      const { ran } = await run("signals_to_others", {
        inputs: { victim: scene.victim.pid, service: process.pid, all },
      });
      return [
        ...(await lookFor(() => (scene.victim.isAlive() ? [] : ["the victim is dead"]))),
        ...(ran.outcome.status === "success" ? [] : [`reported as ${ran.outcome.status}`]),
      ];
    },
    control: NO_ISOLATION,
  },
];

/** Lets every user write what the sandbox shows read-only, so that nothing but its mounts stands in the way. */
function openWide({ commit }: Post): void {
  const root = join(commit.commitDir, "../..");
  execFileSync("chmod", ["-R", "a+rwX", commit.commitDir]);
  for (const entry of readdirSync(root)) {
    const environment = join(root, entry, "environment");
    if (existsSync(environment)) execFileSync("chmod", ["-R", "a+rwX", environment]);
  }
}

function findMarks(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" }).filter(
    (path) => path.endsWith("treadle-mark") && statSync(join(folder, path)).isFile(),
  );
}
