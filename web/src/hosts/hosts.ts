import { queryOptions } from "@tanstack/react-query";
import type { z } from "zod";
import type { HostList } from "../../../domain/api/service.ts";
import { formatSize } from "../../../domain/manifest/sizes.ts";
import { callApi } from "../app/api.ts";

/** As often as each process says how it is. */
const LOOK_AGAIN_MS = 5_000;

export type Host = z.infer<typeof HostList>["hosts"][number];
export type HostPrograms = NonNullable<Host["programs"]>;

export const hostsQuery = queryOptions({
  queryKey: ["hosts"],
  queryFn: async ({ signal }) => (await callApi<z.infer<typeof HostList>>("/api/hosts", { signal })).hosts,
  refetchInterval: LOOK_AGAIN_MS,
});

export const ROLE_WORDS: Readonly<Record<Host["role"], string>> = {
  all: "Calls and programs",
  api: "Calls",
  worker: "Programs",
};

/** Returns the state of a process in a word, and its colour. */
export function stateOf({ present, draining, programs }: Host): { label: string; tone: string } {
  if (!present) return { label: "Gone", tone: "failure" };
  if (draining) return { label: "Stopping", tone: "warning" };
  if ((programs?.problems ?? []).length > 0) return { label: "Lacks something", tone: "warning" };
  return { label: "Running", tone: "success" };
}

/** What programs find on a host, each with its name. */
export function listOffers({ offers }: HostPrograms): readonly (readonly [name: string, words: string])[] {
  const { pythons, network, isolation, cores, memoryBytes, ceilings } = offers;
  const most: readonly (readonly [string, string])[] =
    ceilings === null
      ? []
      : [
          [
            "A program gets at most",
            `${ceilings.cpu} cores, ${formatSize(ceilings.memoryBytes)}, ${formatSize(ceilings.scratchBytes)} of scratch`,
          ],
        ];
  return [
    ["Python", pythons.join(", ")],
    ["Network", network ? "Yes, with destinations" : "No"],
    ["Isolation", isolation],
    ["Machine", `${cores} cores, ${formatSize(memoryBytes)}`],
    ...most,
  ];
}

/** Returns how busy the machine of a host is, in words. */
export function loadOf({ offers: { loadAverage, cores } }: HostPrograms): string | undefined {
  return loadAverage === null ? undefined : `${loadAverage.toFixed(2)} of ${cores}`;
}

/** Programs that run on all hosts that are there, and how many could. */
export function addUp(hosts: readonly Host[]): { running: number; waiting: number; slots: number } {
  const open = hosts.filter(({ present }) => present);
  const sum = (count: (programs: HostPrograms, host: Host) => number): number =>
    open.reduce((total, host) => total + (host.programs === null ? 0 : count(host.programs, host)), 0);
  return {
    running: sum(({ running }) => running),
    waiting: sum(({ waiting }) => waiting),
    slots: sum(({ slots }, { draining }) => (draining ? 0 : slots)),
  };
}
