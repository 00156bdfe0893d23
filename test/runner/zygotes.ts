import { readFileSync } from "node:fs";
import { listChildren } from "../../sandbox/process-tree.ts";

/** The outermost processes of this process's sandboxes. It may have other children: servers that earlier test files left running. */
export function listSandboxes(): number[] {
  return listChildren(process.pid).filter((pid) => /^[^\0]*bwrap\0/.test(readCommand(pid)));
}

/** The zygotes of this process's lanes. */
export function listZygotes(): number[] {
  return listSandboxes()
    .flatMap((pid) => listChildren(pid))
    .filter((pid) => readCommand(pid).includes("zygote"));
}

/** Empty for a process that has ended. */
function readCommand(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "latin1");
  } catch {
    return "";
  }
}
