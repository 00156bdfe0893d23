import { afterAll } from "@jest/globals";
import { aDatabase, type TestDatabase } from "./postgres.ts";

/** Makes the database of a whole test file, at its top: `const { db } = await aFileDatabase();`. Drops it after the last test. */
export async function aFileDatabase(options: Parameters<typeof aDatabase>[0] = {}): Promise<TestDatabase> {
  const database = await aDatabase(options);
  afterAll(() => database.drop());
  return database;
}
