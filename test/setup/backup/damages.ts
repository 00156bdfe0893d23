import { readFile, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DATA_VERSION } from "../../../src/setup/data-dir.ts";

const edit = async (folder: string, path: string, change: (text: string) => string): Promise<void> => {
  await writeFile(join(folder, path), change(await readFile(join(folder, path), "utf8")));
};
/** Changes what the description of a backup says. */
export const describe = (change: object) => (folder: string) =>
  edit(folder, "backup.json", (text) => JSON.stringify({ ...(JSON.parse(text) as object), ...change }));

/** What may have happened to the folder of a backup, and what is said of it. */
export const DAMAGES: readonly [string, (folder: string) => Promise<void>, RegExp][] = [
  [
    "a file that was changed",
    (folder) => edit(folder, "data/keys/operator-token", () => "tokem\n"),
    /damaged: data\/keys\/operator-token/,
  ],
  [
    "a table that is cut off",
    (folder) => edit(folder, "database/accounts.copy.gz", (text) => text.slice(0, 20)),
    /damaged: database\/acc/,
  ],
  ["a file that is missing", (folder) => rm(join(folder, "data/tls/key.pem")), /damaged: data\/tls\/key.pem/],
  ["a file too many", (folder) => writeFile(join(folder, "data/more"), ""), /not of the backup/],
  [
    "sums that were changed",
    (folder) => edit(folder, "SHA256SUMS", (text) => text.replace(/.*host-id\n/, "")),
    /damaged: SHA256SUMS/,
  ],
  ["no description", (folder) => rm(join(folder, "backup.json")), /is no backup/],
  [
    "a description that is cut off",
    (folder) => edit(folder, "backup.json", (text) => text.slice(0, 50)),
    /damaged: backup.json/,
  ],
  [
    "a newer format",
    describe({ format: 2, tables: "otherwise" }),
    /newer version of Treadle made the backup: its format is 2/,
  ],
  [
    "newer data",
    describe({ dataVersion: DATA_VERSION + 1 }),
    /newer version of Treadle made the backup: its data version/,
  ],
  [
    "a newer database",
    describe({ migrations: ["0001_accounts", "9999_later"] }),
    /newer version of Treadle made the backup: .*9999_later/,
  ],
  [
    "a table it does not have",
    describe({
      tables: [
        { name: "users", columns: ["id"] },
        { name: "no", columns: ["a"] },
      ],
    }),
    /damaged: database\/no/,
  ],
  [
    "a link instead of a file",
    async (folder) => {
      await rm(join(folder, "data/host-id"));
      await symlink(join(folder, "data/examples.json"), join(folder, "data/host-id"));
    },
    /damaged: data\/host-id/,
  ],
];
