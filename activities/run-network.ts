import { listDestinations, type StoredDestination } from "../db/accounts/destinations.ts";
import type { Db } from "../db/connect.ts";
import { type Destination, findPublicProblem, parseEndpoint } from "../domain/destinations.ts";
import type { AccountId } from "../domain/ids.ts";
import type { NetworkLimit } from "../domain/manifest/manifest.ts";
import { listGrantNames } from "../domain/manifest/network.ts";

export type RunNetwork =
  | { readonly ok: true; readonly network: boolean | readonly Destination[] }
  | { readonly ok: false; readonly message: string };

/** Returns what a program may reach, as it is granted now, or why it cannot begin. */
export async function findRunNetwork(db: Db, accountId: AccountId, limit: NetworkLimit): Promise<RunNetwork> {
  if (typeof limit !== "object") return { ok: true, network: limit };
  const stored = listGrantNames(limit).length === 0 ? [] : await listDestinations(db, accountId);
  const network: Destination[] = [];
  for (const name of limit.to) {
    const found = name.includes(":") ? toPublic(name) : toGranted(name, stored);
    if (found === undefined)
      return {
        ok: false,
        message: `The account has no destination ${name} any more (limits.network). The operator grants one: treadle destinations add ${name} HOST:PORT`,
      };
    network.push(found);
  }
  return { ok: true, network };
}

function toGranted(name: string, stored: readonly StoredDestination[]): Destination | undefined {
  const found = stored.find((one) => one.name === name);
  if (found === undefined) return undefined;
  const reading = parseEndpoint(`${found.host}:${found.ports}`);
  if ("problem" in reading) return undefined;
  return { name, grantId: found.id, host: reading.endpoint.host, ports: reading.endpoint.ports };
}

/** What publishing has allowed is looked at again: it may have been before a release that allows less. */
function toPublic(name: string): Destination | undefined {
  const reading = parseEndpoint(name);
  if ("problem" in reading || findPublicProblem(reading.endpoint) !== undefined) return undefined;
  return { name, grantId: null, host: reading.endpoint.host, ports: reading.endpoint.ports };
}
