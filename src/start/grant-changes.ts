import { DESTINATION_ENDED, listGranted } from "../../db/accounts/destinations.ts";
import type { Db } from "../../db/connect.ts";
import type { Subscription } from "../../db/subscription.ts";
import type { Network } from "../../sandbox/network/network.ts";

/**
 * Lets a network ask for grants, and returns the notifications after which it does so at once. From then on nothing reaches a
 * destination that was taken away. It asks every few seconds besides.
 */
export function followGrants(network: Pick<Network, "useGrants" | "refreshGrants">, db: Db): Subscription {
  network.useGrants((ids) => listGranted(db, ids));
  const refresh = () => void network.refreshGrants();
  return { channel: DESTINATION_ENDED, onNotify: refresh, onReconnect: refresh };
}
