import { randomBytes } from "node:crypto";
import { connect, type DatabaseAddress, type Db } from "../../db/connect.ts";
import { POSTGRES_USER } from "../../src/setup/servers/postgres-data.ts";
import { administer, joinTestServer, TEMPLATE } from "./postgres-server.ts";

export interface TestDatabase {
  readonly db: Db;
  /** For a second pool, or for LISTEN. */
  readonly address: DatabaseAddress;
  /** Closes the pool and deletes the database, whoever else is still connected. */
  drop(): Promise<void>;
}

/** An empty, migrated database of this test file's own, on the one server of this test run. The caller drops it. `isBare`: without tables. */
export async function aDatabase(options: { poolMax?: number; isBare?: boolean } = {}): Promise<TestDatabase> {
  const socketFolder = await joinTestServer();
  const name = `test_${randomBytes(8).toString("hex")}`;
  await administer(
    socketFolder,
    `create database ${name} template ${options.isBare === true ? "template0" : TEMPLATE}`,
  );
  const address = { host: socketFolder, user: POSTGRES_USER, database: name };
  const db = connect(address, { poolMax: options.poolMax ?? 20, applicationName: "test" });
  return {
    db,
    address,
    async drop() {
      await db.destroy();
      await administer(socketFolder, `drop database if exists ${name} with (force)`);
    },
  };
}
