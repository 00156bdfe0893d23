import { join } from "node:path";
import pg from "pg";

/** A connection to the service's own PostgreSQL, around the service. `dataDir` is what its folder is in. */
export async function openDatabase(dataDir: string): Promise<pg.Client> {
  const client = new pg.Client({
    host: join(dataDir, "postgres/socket"),
    user: "treadle",
    database: "treadle",
    application_name: "chaos checker",
  });
  client.on("error", () => undefined); // The server is stopped while it is open: the next query tells.
  await client.connect();
  return client;
}
