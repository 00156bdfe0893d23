import { availableParallelism, loadavg, totalmem } from "node:os";
import type { PythonControl } from "../../activities/index.ts";
import type { HostOffers, HostWord } from "../../db/executions/hosts.ts";
import { minorVersionOf } from "../../sandbox/interpreter.ts";
import type { Settings } from "../config.ts";
import type { KeyRing } from "../keys/key-ring.ts";
import type { Machine } from "../setup/machine.ts";
import { findVersion } from "../version.ts";
import type { Stopping } from "./draining.ts";
import type { Host, Programs } from "./host-programs.ts";

/** Returns what finds what this process says of itself and its host to the others. */
export function createHostWord(deps: {
  settings: Settings;
  machine: Pick<Machine, "gvisor">;
  host: Pick<Host, "slotCount" | "interpreters" | "ceilings">;
  programs: Pick<Programs, "lacks" | "slots">;
  python: Pick<PythonControl, "runningCount">;
  stopping: Pick<Stopping, "isStopping">;
  keyRing: Pick<KeyRing, "ids">;
}): () => Promise<HostWord> {
  const { settings, machine, host, programs, python } = deps;
  const { lacks, slots } = programs;
  const version = findVersion();
  // Looked for once: a host that gets another Python is started again.
  let pythons: readonly string[] | undefined;

  async function findOffers(network: boolean): Promise<HostOffers> {
    pythons ??= (await host.interpreters.list()).map(minorVersionOf).reverse();
    const { memoryBytes, cpu, scratchBytes } = host.ceilings;
    const [loadAverage = 0] = loadavg();
    return {
      pythons,
      network,
      isolation: isolationOf(settings, machine),
      memoryBytes: totalmem(),
      cores: availableParallelism(),
      ceilings: { memoryBytes, cpu, scratchBytes },
      loadAverage,
    };
  }

  return async () => {
    const about = {
      role: settings.TREADLE_ROLE,
      version,
      draining: deps.stopping.isStopping,
      keyIds: deps.keyRing.ids(),
    };
    if (lacks === undefined) return { ...about, programs: null };
    const waiting = slots.waiting();
    const lacking = lacks.list();
    return {
      ...about,
      programs: {
        slots: host.slotCount,
        running: Math.max(0, python.runningCount() - waiting),
        waiting,
        lacks: lacking,
        offers: await findOffers(lacking.networkProblem === null),
      },
    };
  };
}

function isolationOf({ TREADLE_ISOLATION }: Settings, { gvisor }: Pick<Machine, "gvisor">): string {
  if (TREADLE_ISOLATION === "none") return "none";
  return gvisor === undefined ? "bubblewrap" : "runsc";
}
