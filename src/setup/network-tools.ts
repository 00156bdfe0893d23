import { messageOf } from "../../domain/message-of.ts";
import {
  type FoundPrograms,
  NETWORK_TOOLS,
  type NetworkCommand,
  requirePrograms,
} from "../../sandbox/network/programs.ts";
import { prepareTunDevice, type TunDevice } from "../../sandbox/network/tun-device.ts";
import { listPrograms } from "./programs.ts";
import type { RunAs } from "./servers/child.ts";
import type { RunCommand } from "./servers/command.ts";
import { installPackage } from "./system-packages.ts";
import { SYSTEM_PATH } from "./user.ts";

export interface NetworkTools {
  /** What is missing is undefined; the code that makes the network says what to do about it. */
  readonly programs: FoundPrograms;
  /** For a service that is about to be root no more, and the device only root's. */
  readonly tun: TunDevice | undefined;
}

/**
 * Finds what networks of executions are made with, and installs what is missing where that is possible and allowed. Never
 * rejects: without it the service runs, and refuses workflows that ask for a network.
 */
export async function prepareNetworkTools(deps: {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly isRoot: boolean;
  readonly mayInstall: boolean;
  readonly report: (line: string) => void;
  readonly run: RunCommand;
  /** The user that a service started as root becomes. */
  readonly becomes: RunAs | undefined;
  /** See `NetworkSettings`. */
  readonly within?: readonly string[];
  readonly install?: typeof installPackage;
}): Promise<NetworkTools> {
  const path = `${deps.env.PATH ?? ""}:${SYSTEM_PATH}`;
  const found: Partial<Record<NetworkCommand, string>> = {};
  for (const command of Object.keys(NETWORK_TOOLS) as NetworkCommand[]) {
    let [program] = await listPrograms(command, path);
    if (program === undefined) {
      const outcome = await (deps.install ?? installPackage)(NETWORK_TOOLS[command].packages, deps);
      if (outcome.kind === "installed") [program] = await listPrograms(command, path);
    }
    if (program !== undefined) found[command] = program;
  }
  const programs = found as FoundPrograms;
  return { programs, tun: await prepareDevice(programs, deps) };
}

/**
 * Only root can make it, so it is made before root is given up. Any other user opens the host's, or gets a message with
 * what to do.
 */
async function prepareDevice(
  found: FoundPrograms,
  deps: { becomes: RunAs | undefined; within?: readonly string[]; report: (line: string) => void },
): Promise<TunDevice | undefined> {
  const { becomes, within, report } = deps;
  const programs = requirePrograms(found);
  if (becomes === undefined || "problem" in programs) return undefined;
  try {
    return await prepareTunDevice(programs, becomes, within);
  } catch (error) {
    report(messageOf(error));
    return undefined;
  }
}
