import type { Command } from "commander";
import { messageOf } from "../../domain/message-of.ts";
import { type Act, addCommand } from "./command.ts";
import { Refusal } from "./refusal.ts";

/** Returns the names of the migrations that were missing; undefined without a `DATABASE_URL`. */
export type MigrateDatabase = () => Promise<readonly string[] | undefined>;

/** `migrate`: of the database that the settings name, whether services run on it or not. */
export function addMigrateCommand(program: Command, act: Act, migrate: MigrateDatabase | undefined): void {
  addCommand(program, "migrate", "bring the database of DATABASE_URL up to date, as a start does, and end").action(
    act(async () => {
      if (migrate === undefined)
        throw new Refusal("Not possible", "This command line has no database. Use bin/treadle.");
      const applied = await migrate().catch((error: unknown) => {
        throw new Refusal("Not migrated", messageOf(error), { cause: error });
      });
      if (applied === undefined)
        throw new Refusal("Not migrated", "Set DATABASE_URL. A start brings the service's own PostgreSQL up to date.");
      const lines = applied.length === 0 ? ["The database is up to date."] : applied.map((name) => `Applied ${name}.`);
      return { document: { applied }, lines };
    }),
  );
}
