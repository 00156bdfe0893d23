/**
 * A service in a process of its own, inside the test's world: makes a network and does what lines on its input ask.
 * `stays` root with `runAs`, `drops` root after preparing the device, or is an `ordinary` user from the beginning.
 */
import { createInterface } from "node:readline";
import type { Destination } from "../../../domain/destinations.ts";
import { createNetwork, type NetworkSettings, type NetworkSlot } from "../../../sandbox/network/network.ts";
import { requirePrograms } from "../../../sandbox/network/programs.ts";
import { prepareTunDevice } from "../../../sandbox/network/tun-device.ts";
import { openUsers } from "../../runner/harness.ts";
import { createExecutor, type ExecutorPlace } from "./executor.ts";

export interface ServiceOrder {
  readonly how: "stays" | "drops" | "ordinary";
  readonly user: { readonly uid: number; readonly gid: number } | undefined;
  readonly settings: Omit<NetworkSettings, "runAs" | "report">;
  /** For services that execute code, too. */
  readonly executor?: ExecutorPlace;
  /** Answers for `protectedHosts`. */
  readonly names?: Readonly<Record<string, readonly string[]>>;
}

export type Request =
  | { readonly act: "problem" | "close" }
  | { readonly act: "take"; readonly destinations?: readonly Destination[] | undefined }
  | {
      readonly act: "execute";
      readonly code: string;
      readonly network: boolean | readonly Destination[];
      readonly cancelAfterMs?: number;
      readonly lane?: boolean;
      readonly packaged?: string;
    }
  | { readonly act: "grants"; readonly ids: readonly string[] }
  | { readonly act: "release" | "look"; readonly slot: number }
  | { readonly act: "rename"; readonly name: string; readonly addresses: readonly string[] };

const { how, user, settings, names, executor } = JSON.parse(process.argv[2] ?? "") as ServiceOrder;
const answers = new Map(Object.entries(names ?? {}));

const programs = requirePrograms(settings.programs);
// As the service does it: before it is root no more, and for sandboxes only.
const users = executor === undefined || how === "ordinary" ? undefined : await openUsers(user);
const within = await users?.enterAsOwner();
const tun = how === "drops" && !("problem" in programs) ? await prepareTunDevice(programs, user, within) : undefined;
if (how !== "stays" && user !== undefined) {
  process.setgroups?.([user.gid]);
  process.setgid?.(user.gid);
  process.setuid?.(user.uid);
}
async function resolveName(name: string): Promise<readonly string[]> {
  const addresses = answers.get(name);
  if (addresses === undefined) throw new Error(`${name} is unknown`);
  return addresses;
}
const startedAt = performance.now();
const network = await createNetwork({
  ...settings,
  tun,
  within: users?.enterAsOwner,
  runAs: how === "stays" ? user : undefined,
  ...(names === undefined ? {} : { resolveName }),
  report: (line) => console.error(line),
});
const execute = executor && createExecutor(executor, { network, runAs: how === "stays" ? user : undefined, users });
let grants: readonly string[] = [];
network.useGrants(async (ids) => ids.filter((id) => grants.includes(id)));
await network.opened;
say({ id: 0, startMs: performance.now() - startedAt, problem: network.problem ?? null });

const slots: NetworkSlot[] = [];
createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, request } = JSON.parse(line) as { id: number; request: Request };
  obey(request).then(
    (answer) => say({ id, ...answer }),
    (error: Error) => say({ id, error: error.message }),
  );
});

async function obey(request: Request): Promise<object> {
  switch (request.act) {
    case "take": {
      const { destinations } = request;
      const way = destinations === undefined ? network : await network.confine(destinations);
      const { enter, resolvConf = "/dev/null" } = slots[slots.push(await way.take()) - 1] as NetworkSlot;
      return { slot: slots.length - 1, enter, resolvConf };
    }
    case "execute":
      if (execute === undefined) throw new Error("This service executes nothing.");
      return execute(request);
    case "look":
      return { isUsable: slots[request.slot]?.isUsable };
    case "grants":
      grants = request.ids;
      await network.refreshGrants();
      return {};
    case "release":
      slots[request.slot]?.release();
      return {};
    case "rename":
      answers.set(request.name, request.addresses);
      return {};
    case "problem":
      return { problem: network.problem ?? null };
    case "close":
      await network.close();
      return {};
  }
}

function say(answer: object): void {
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
