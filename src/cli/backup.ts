import { resolve } from "node:path";
import type { Command } from "commander";
import type { BackupRefused, Description } from "../backup/description.ts";
import { type Act, addCommand } from "./command.ts";
import { Refusal } from "./refusal.ts";
import { resolveDataDir } from "./service.ts";

export interface BackupOptions {
  readonly dataDir: string;
  readonly target: string;
  readonly withFiles: boolean;
  readonly report: (line: string) => void;
}

export type Backup = (options: BackupOptions) => Promise<Description>;

/** `backup FOLDER`: of the installation on this machine's data folder, whether it is running or not. */
export function addBackupCommand(program: Command, act: Act, backup: Backup | undefined): void {
  addCommand(program, "backup", "keep a copy of everything: database, files, keys")
    .argument("<folder>", "the folder to make")
    .option("--without-files", "leave inputs, outputs and logs out: the storage has a backup of its own")
    .action(
      act<{ withoutFiles?: boolean }>(async (context, [folder], { withoutFiles = false }) => {
        if (backup === undefined)
          throw new Refusal("Not possible", "This command line makes no backups. Use bin/treadle.");
        const target = resolve(context.io.cwd, folder as string);
        const dataDir = resolveDataDir(context.io, context.dataDir);
        const { takenAt, open, storage, postgres } = await explained(() =>
          backup({ dataDir, target, withFiles: !withoutFiles, report: context.say }),
        );
        const faults =
          storage === null || storage.missing + storage.damaged === 0
            ? []
            : [
                `In storage already: ${storage.missing} files were missing, ${storage.damaged} were not as they had been stored.`,
              ];
        return {
          document: { folder: target, takenAt, open, storage, postgres },
          lines: [
            `${target} holds everything of ${takenAt}. It holds keys, too: keep it where nobody else can read it.`,
            ...faults,
          ],
        };
      }),
    );
}

/** A refusal in the form of the command line; so is what the system says of disks and rights. */
export async function explained<T>(perform: () => Promise<T>): Promise<T> {
  return perform().catch((error: unknown) => {
    const { name, syscall, message } = error as BackupRefused & { readonly syscall?: unknown };
    // By its name: the command line by itself has nothing of the service, and this class is part of that.
    if (name === "BackupRefused") throw new Refusal("Backup refused", message, { cause: error });
    if (typeof syscall === "string")
      throw new Refusal("Backup failed", `${message}. Nothing half-done is left.`, { cause: error });
    throw error;
  });
}
