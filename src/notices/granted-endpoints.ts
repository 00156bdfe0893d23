import { listDestinations } from "../../db/accounts/destinations.ts";
import type { Db } from "../../db/connect.ts";
import { type Endpoint, parseEndpoint } from "../../domain/destinations.ts";
import type { AccountId } from "../../domain/ids.ts";

/** Lists what an account is granted at this moment. */
export async function listGrantedEndpoints(db: Db, accountId: AccountId): Promise<Endpoint[]> {
  return (await listDestinations(db, accountId)).flatMap(({ host, ports }) => {
    const reading = parseEndpoint(`${host}:${ports}`);
    return "endpoint" in reading ? [reading.endpoint] : [];
  });
}
