import { z } from "zod";
import { renameReplaced } from "../../db/migrate.ts";

/** Raised when a program that knows only earlier ones can no longer read what is written. */
export const FORMAT = 1;

/** Names in the folder of a backup. */
export const DESCRIPTION_FILE = "backup.json";
export const SUMS_FILE = "SHA256SUMS";
/** The stored objects, by key. */
export const STORAGE_PREFIX = "storage/";
/** Files of the data folder, by their path in it. */
export const DATA_PREFIX = "data/";

export const tableFile = (table: string): string => `database/${table}.copy.gz`;

const Name = z.string().regex(/^[a-z_][a-z0-9_]{0,62}$/);
const Count = z.number().int().min(0);

/** What a backup is made of; in `backup.json`, which is written last. */
export const Description = z.object({
  format: z.number().int().min(1),
  /** The moment that it shows. */
  takenAt: z.iso.datetime(),
  dataVersion: z.number().int().min(1),
  postgres: z.string(),
  migrations: z
    .array(z.string().regex(/^\d{4}_[a-z0-9_]+$/))
    .min(1)
    .transform(renameReplaced),
  tables: z.array(z.object({ name: Name, columns: z.array(Name).min(1) })).min(1),
  sequences: z.array(
    z.object({ table: Name, column: Name, value: z.string().regex(/^-?\d{1,19}$/), called: z.boolean() }),
  ),
  /** Executions under way at that moment. */
  open: Count,
  /** Null: the stored files were left out. `missing` and `damaged` were so in storage already. */
  storage: z.object({ objects: Count, bytes: Count, missing: Count, damaged: Count }).nullable(),
  /** SHA-256 of `SHA256SUMS`, which has those of all other files. */
  sums: z.string().regex(/^[0-9a-f]{64}$/),
});
export type Description = z.infer<typeof Description>;

/** A backup or a restore that cannot be; the message says why and what to do. Nothing was changed. */
export class BackupRefused extends Error {
  override readonly name = "BackupRefused";
}
