import { basename } from "node:path";
import type { Process } from "../processes.ts";
import { VICTIMS, type Victim } from "./plan.ts";

/** The same of several processes of the service, and of the servers below one that keeps them. */
export function sortAll(
  trees: readonly (readonly Process[])[],
  servers: readonly Process[] = [],
): Readonly<Record<Victim, readonly Process[]>> {
  const sorted = [...trees.map(sortVictims), { ...sortVictims(servers), service: [] }];
  return Object.fromEntries(
    VICTIMS.map((victim) => [victim, sorted.flatMap((each) => each[victim])]),
  ) as unknown as Record<Victim, readonly Process[]>;
}

/**
 * The processes of a service by the part they play. `tree` is the service's own, itself first, so nothing else can be among
 * them. Programs of cold sandboxes come before forks of lanes, which may be waiting for work.
 */
export function sortVictims(tree: readonly Process[]): Readonly<Record<Victim, readonly Process[]>> {
  const service = tree.slice(0, 1);
  const childrenOf = (parents: readonly Process[]): Process[] =>
    tree.filter((process) => parents.some(({ pid }) => pid === process.parent));
  const own = childrenOf(service);
  const postgres = own.filter((process) => programOf(process) === "postgres");
  const lane = own.filter((process) => programOf(process) === "bwrap" && runs(process, "zygote.pyc"));
  const zygote = childrenOf(lane);
  const fork = childrenOf(zygote);
  const laneProgram = childrenOf(fork);
  const cold = childrenOf(own.filter((process) => runs(process, "main.pyc") && !lane.includes(process)));
  const inside: Process[] = [];
  for (let layer = cold; layer.length > 0; layer = childrenOf(layer)) inside.push(...layer);
  const coldProgram = inside.filter((process) => programOf(process).startsWith("python"));
  return {
    service,
    temporal: own.filter((process) => programOf(process).startsWith("temporal")),
    postgres,
    backend: childrenOf(postgres),
    lane,
    zygote,
    fork,
    sandbox: own.filter((process) => runs(process, "main.pyc") && !lane.includes(process)),
    program: coldProgram.length > 0 ? coldProgram : laneProgram,
    router: own.filter((process) => ["slirp4netns", "cat"].includes(programOf(process))),
  };
}

function programOf({ command }: Process): string {
  return basename(command[0] ?? "");
}

function runs({ command }: Process, program: string): boolean {
  return command.some((word) => word.endsWith(`/${program}`));
}
