import type { Command } from "commander";
import type { z } from "zod";
import type { HostList } from "../../domain/api/service.ts";
import { formatSize } from "../../domain/manifest/sizes.ts";
import { type Act, addCommand } from "./command.ts";
import { toTable } from "./io.ts";

type Hosts = z.infer<typeof HostList>["hosts"];

/** `hosts`: for the operator's token. */
export function addHostsCommand(program: Command, act: Act): void {
  addCommand(program, "hosts", "list the hosts of this installation, what they offer and how busy they are").action(
    act(async (context) => {
      const document = await (await context.client()).get<z.infer<typeof HostList>>("/api/hosts");
      const rows = document.hosts.map((host) => [
        host.hostId,
        host.role,
        stateOf(host),
        host.saidAt,
        host.version,
        ...describePrograms(host),
      ]);
      const headings = ["Host", "Role", "State", "Last word", "Version", "Running", "Waiting", "Offers"];
      const problems = document.hosts.flatMap(({ hostId, programs }) =>
        (programs?.problems ?? []).map((problem) => `${hostId}: ${problem}`),
      );
      return { document, lines: [...toTable(headings, rows), ...problems] };
    }),
  );
}

function stateOf({ present, draining }: Hosts[number]): string {
  if (!present) return "gone";
  return draining ? "stopping" : "there";
}

function describePrograms({ programs }: Hosts[number]): string[] {
  if (programs === null) return ["", "", ""];
  const { pythons, network, isolation, memoryBytes, cores } = programs.offers;
  const offers = [
    `Python ${pythons.join(", ")}`,
    network ? "network" : "no network",
    isolation,
    `${cores} cores, ${formatSize(memoryBytes)}`,
  ];
  return [`${programs.running} of ${programs.slots}`, String(programs.waiting), offers.join("; ")];
}
