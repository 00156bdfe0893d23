import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { RunAs } from "./child.ts";
import type { RunCommand } from "./command.ts";
import { copyIntoReach } from "./reachability.ts";
import { checkBinary, type TemporalBinary } from "./temporal-version.ts";

const COPY = /^temporal-\d.*-\d+-\d+$/;

/**
 * Returns a server that this user can execute. It is the one found, or, where that lies in a home the user may not
 * enter, a copy of it in `folder`. The copy is made once for each version and state of the original. Copies of others,
 * 140 MB each, are removed. Rejects with what happened when the user tried the copy.
 */
export async function bringIntoReach(
  found: TemporalBinary,
  options: {
    readonly folder: string;
    readonly user: RunAs;
    readonly report: (line: string) => void;
    readonly run: RunCommand;
  },
): Promise<TemporalBinary> {
  const { folder, user, report, run } = options;
  const { size, mtimeMs } = await stat(found.path);
  const name = `temporal-${found.version}-${size}-${Math.round(mtimeMs)}`;
  const runAsUser: RunCommand = (command, args, how) => run(command, args, { ...how, runAs: user });
  let problem = "";
  const works = async (path: string) => {
    const check = await checkBinary(path, runAsUser);
    if (check.kind === "unsuitable") problem = check.problem;
    return check.kind === "suitable";
  };
  const path = await copyIntoReach({ source: found.path, folder, name, works, report });
  if (path === undefined)
    throw new Error(
      `User ${user.uid} can execute neither ${found.path} nor its copy in ${folder}: ${problem}. Is that disk mounted with noexec?`,
    );
  for (const other of await readdir(folder))
    if (COPY.test(other) && other !== name) await rm(join(folder, other), { force: true });
  return { ...found, path };
}
