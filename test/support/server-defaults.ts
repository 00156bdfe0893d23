import { loadSettings, type Settings } from "../../src/config.ts";
import { createConnections } from "../../src/http/server/connections.ts";
import { timeoutsOf } from "../../src/http/server/timeouts.ts";

export const DEFAULT_SETTINGS = loadSettings({});

/** Returns what a server on a free port of this machine takes from its settings; the defaults unless given. */
export function serverDefaults(
  given: { readonly settings?: Settings; readonly trustProxy?: boolean | undefined } = {},
) {
  const { settings = DEFAULT_SETTINGS, trustProxy = false } = given;
  const { TREADLE_CONNECTIONS_MAX: max, TREADLE_CONNECTIONS_PER_ADDRESS_MAX: perAddressMax } = settings;
  const connections = createConnections({ max, perAddressMax }, { trustProxy });
  return { host: "127.0.0.1", port: 0, trustProxy, connections, ...timeoutsOf(settings) };
}
