import { resolve } from "node:path";
import { type Command, Option } from "commander";
import type { Restored } from "../backup/restore.ts";
import { explained } from "./backup.ts";
import { type Act, addCommand } from "./command.ts";
import { Refusal } from "./refusal.ts";
import { resolveDataDir } from "./service.ts";

export interface RestoreOptions {
  readonly dataDir: string;
  readonly source: string;
  readonly open: "release" | "continue";
  readonly report: (line: string) => void;
}

export type Restore = (options: RestoreOptions) => Promise<Restored>;

/** `restore FOLDER`: into a data folder that is empty or does not exist. */
export function addRestoreCommand(program: Command, act: Act, restore: Restore | undefined): void {
  addCommand(program, "restore", "make an installation of a backup, in an empty data folder")
    .argument("<folder>", "the folder of the backup")
    .addOption(
      new Option("--open <what>", "what becomes of executions that were under way")
        .choices(["release", "continue"])
        .default("release"),
    )
    .action(
      act<{ open: "release" | "continue" }>(async (context, [folder], { open }) => {
        if (restore === undefined)
          throw new Refusal("Not possible", "This command line restores no backups. Use bin/treadle.");
        const source = resolve(context.io.cwd, folder as string);
        const dataDir = resolveDataDir(context.io, context.dataDir);
        const restored = await explained(() => restore({ dataDir, source, open, report: context.say }));
        const { description, rows, objects, released, moneyFaults } = restored;
        const document = {
          dataDir,
          takenAt: description.takenAt,
          rows,
          objects,
          released,
          open: restored.open,
          moneyFaults,
        };
        const lines = [
          `${dataDir} is as the installation was at ${description.takenAt}: ${rows} rows, ${objects} files.`,
          `${released} executions that were under way have been ended, uncharged; ${restored.open} go on when the service starts.`,
          ...(description.storage === null ? ["The backup has no stored files: the storage has to have them."] : []),
          ...(moneyFaults > 0
            ? [`${moneyFaults} amounts of credits do not add up, as before. See docs/credits.md.`]
            : []),
        ];
        return { document, lines };
      }),
    );
}
