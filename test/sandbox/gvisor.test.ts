import { chmodSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { findProcess, isRunning, type KnownProcess, listTree } from "../../sandbox/process-tree.ts";
import { makeFolder } from "../runner/folders.ts";
import { type Bench, IN_GVISOR, jsonOf, LANES, openBench } from "../runner/harness.ts";

const MIB = 1024 * 1024;
/** Shows the program what `runsc` would, and runs it with the kernel of the machine. */
const NO_GVISOR = `exec unshare --user --map-root-user --mount /bin/sh -c '
mount --rbind /box /box && mount -t tmpfs none /box/app && mount -t tmpfs none /box/tmp && mkdir /box/app/outputs /box/app/inputs
mount --rbind /outputs /box/app/outputs && mount --rbind /proc /box/proc && exec chroot /box /usr/bin/python3 -I -S -B /runner/main.pyc 3
'`;

let folder: string;
const benches: Bench[] = [];
beforeAll(() => {
  folder = makeFolder("runsc");
});
afterAll(async () => {
  for (const bench of benches) await bench.close();
  rmSync(folder, { recursive: true, force: true });
});

/** A bench whose `runsc` is this script. */
async function openWith(script: string): Promise<Bench> {
  const runscPath = join(folder, `runsc-${benches.length}`);
  writeFileSync(runscPath, `#!/bin/sh\n${script}\n`);
  chmodSync(runscPath, 0o755);
  const bench = await openBench({ gvisor: { runscPath } });
  benches.push(bench);
  return bench;
}

test("self-test, of a runsc that does not start, answers what it said", async () => {
  const bench = await openWith("echo no such platform >&2; exit 3");
  expect(await bench.selfTest()).toEqual([expect.stringMatching(/did not start \(exit code 3\).* no such platform/)]);
});

test("self-test, of a runsc that is none, sees the kernel of the machine", async () => {
  const bench = await openWith(NO_GVISOR);
  expect(await bench.selfTest()).toContain("programs run on the kernel of the machine and not in gVisor");
});

test("an execution that asks for a network is refused in gVisor, and runs nothing", async () => {
  const bench = await openWith("exit 3");
  await expect(bench.run({ code: "print(1)", network: true })).rejects.toThrow("Executions in gVisor have no network.");
});

test("lanes, with gVisor, are off, and say why", async () => {
  const bench = await openBench({ gvisor: { runscPath: "/nowhere" }, lanes: { dir: "", ...LANES } });
  benches.push(bench);
  const reason = "gVisor starts a kernel for each program (TREADLE_SANDBOX_RUNTIME).";
  expect(bench.laneProblem()).toBe(reason);
  expect(await bench.commit({ code: "print(1)" }).warm()).toEqual({ warm: false, reason });
});

// Building runsc takes minutes, so this is the long form: see CONTRIBUTING.md.
if (IN_GVISOR !== undefined) {
  const run = (program: Parameters<Bench["run"]>[0]) => bench.run(program);
  let bench: Bench;
  beforeAll(async () => {
    bench = await openBench();
    benches.push(bench);
  });

  test("self-test, in gVisor, finds nothing", async () => {
    expect(await bench.selfTest()).toEqual([]);
  });

  test("program, in gVisor, reads its files, writes outputs, and sees a kernel that is not the machine's", async () => {
    const ran = await run({
      code: "import os, time\ndef main(orders, who):\n    open('outputs/copy.txt', 'w').write(orders.read_text())\n    print('hello', who)\n    return {'kernel': os.uname().release, 'pid': os.getpid(), 'ids': [os.getuid(), os.getgid()]}",
      files: [{ input: "orders", files: [{ content: "a,b", fileName: "orders.csv" }] }],
      inputs: { who: "you" },
    });
    expect(ran.outcome).toMatchObject({ status: "success", message: "" });
    expect(ran.stdout).toBe("hello you");
    expect(ran.texts.copy).toBe("a,b");
    expect(ran.texts.kernel).toContain("gvisor");
    expect([jsonOf(ran, "pid"), jsonOf(ran, "ids")]).toEqual([2, [10001, 10001]]);
  });

  test.each([
    ["time", "while True: pass", "timed_out", { timeoutSeconds: 1 }],
    ["memory", "x = []\nwhile True: x.append(b'x' * (4 << 20))", "out_of_memory", { memoryBytes: 128 * MIB }],
    [
      "memory of scratch files",
      "import time\nfor folder in ('/tmp', '/dev/shm', '/app'): open(folder + '/x', 'wb').write(b'x' * (30 << 20))\ntime.sleep(9)",
      "out_of_memory",
      { memoryBytes: 64 * MIB },
    ],
    ["output bytes", "f = open('outputs/x', 'wb')\nwhile True: f.write(b'x' * (1 << 20))", "failed", {}],
    [
      "output files",
      "for n in range(5000): open(f'outputs/{n}', 'w').close()\nimport time; time.sleep(9)",
      "failed",
      {},
    ],
  ] as const)("limit of %s, in gVisor, holds", async (_, code, status, limits) => {
    expect((await run({ code, limits })).outcome.status).toBe(status);
  });

  test("limit of processes, in gVisor, makes fork fail, and nothing is left of what was made", async () => {
    let gvisor: KnownProcess[] = [];
    const ran = await run({
      code: "import os, time\nmade = 0\ntry:\n    while made < 500:\n        if os.fork() == 0: time.sleep(99)\n        made += 1\nexcept OSError: print(made, flush=True)\ntime.sleep(0.5)",
      limits: { processes: 24 },
      onLine: () => {
        const nameOf = (pid: number) => readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0")[0] ?? "";
        const pids = listTree(process.pid).filter((pid) => /^(\/gvisor\/runsc|runsc-.*)$/.test(nameOf(pid)));
        gvisor = pids.flatMap((pid) => findProcess(pid) ?? []);
      },
    });
    expect(Number(ran.stdout)).toBeGreaterThan(20);
    expect(Number(ran.stdout)).toBeLessThan(24);
    expect(gvisor.length).toBeGreaterThan(2); // `runsc`, and the two that it starts at least.
    expect(gvisor.filter(isRunning)).toEqual([]);
  });

  test("cancelling, in gVisor, lets the program save what it has", async () => {
    const controller = new AbortController();
    const code =
      "import signal, sys, time\ndef end(*_):\n    open('outputs/kept', 'w').write('kept'); sys.exit(3)\nsignal.signal(signal.SIGTERM, end)\nprint('up', flush=True)\ntime.sleep(60)";
    const ran = await run({ code, signal: controller.signal, onLine: () => controller.abort() });
    expect(ran.outcome.status).toBe("cancelled");
    expect(ran.texts.kept).toBe("kept");
  });
}
