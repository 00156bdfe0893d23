import { lookup } from "node:dns/promises";
import { isRange, overlaps, parseRange } from "../../domain/address-ranges.ts";
import { type Endpoint, findGrantProblem } from "../../domain/destinations.ts";
import { createHostRangesReader, createOwnRangesReader } from "./addresses.ts";

/** Decides what an operator may grant. Hosts that run programs check the same again, at every look at the addresses. */
export interface GrantRules {
  /** Returns why programs cannot be let in there; undefined when they can. */
  findProblem(endpoint: Endpoint): Promise<string | undefined>;
}

/** `protectedHosts` and `ungrantableHosts` are the service's own servers: its database, Temporal and storage. */
export function createGrantRules(settings: {
  readonly protectedHosts: readonly string[];
  readonly ungrantableHosts: readonly string[];
}): GrantRules {
  const { protectedHosts, ungrantableHosts } = settings;
  const readOwn = process.platform === "linux" ? createOwnRangesReader({ protectedHosts }) : async () => [];
  const readKept = createHostRangesReader({ hosts: ungrantableHosts });
  return {
    async findProblem({ host }) {
      const addresses = isRange(host) ? [host] : await resolve(host);
      if (addresses === undefined)
        return `${host} has no IPv4 address here. Write the name right, or grant an address.`;
      const never = addresses.map(findGrantProblem).find((problem) => problem !== undefined);
      if (never !== undefined) return isRange(host) ? never : `${host} leads there: ${never}`;
      const ours = [...(await readOwn()), ...(await readKept())];
      const isOurs = addresses.map(parseRange).some((range) => ours.some((one) => overlaps(one, range)));
      return isOurs
        ? `${host} leads to this machine, or to the service's own servers. No program may reach those.`
        : undefined;
    },
  };
}

async function resolve(host: string): Promise<string[] | undefined> {
  const found = await lookup(host, { all: true, family: 4 }).catch(() => undefined);
  return found?.map(({ address }) => address);
}
