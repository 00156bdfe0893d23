import { readFileSync } from "node:fs";
import { listChildren } from "../../activities/sandbox/process-tree.ts";

/** The zygotes of this process's lanes. */
export function listZygotes(): number[] {
  const isZygote = (pid: number) => readFileSync(`/proc/${pid}/cmdline`, "latin1").includes("zygote");
  return listChildren(process.pid)
    .flatMap((pid) => listChildren(pid))
    .filter(isZygote);
}
