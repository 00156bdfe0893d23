import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";

/**
 * A TCP port that nobody listened on a moment ago. Another program may take it first, so the caller must be ready to
 * ask again. The system hands them out in turn: two calls rarely get the same one.
 */
export async function freePort(host: string): Promise<number> {
  const server = createServer();
  server.listen(0, host);
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}
