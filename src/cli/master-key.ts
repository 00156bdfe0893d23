import type { Command } from "commander";
import { explained } from "./backup.ts";
import { type Act, addCommand, addGroup } from "./command.ts";
import { Refusal } from "./refusal.ts";
import { resolveDataDir } from "./service.ts";

export interface RotateOptions {
  readonly dataDir: string;
  readonly report: (line: string) => void;
}

export type RotateMaster = (options: RotateOptions) => Promise<{ readonly resealed: Readonly<Record<string, number>> }>;

/** `keys rotate-master`: of the installation on this machine's data folder, whether it is running or not. */
export function addMasterKeyCommands(program: Command, act: Act, rotate: RotateMaster | undefined): void {
  const keys = addGroup(program, "keys", "the key that everything secret is sealed with");
  addCommand(keys, "rotate-master", "replace the master key; the service goes on").action(
    act(async (context) => {
      if (rotate === undefined) throw new Refusal("Not possible", "This command line has no keys. Use bin/treadle.");
      const dataDir = resolveDataDir(context.io, context.dataDir);
      const { resealed } = await explained(() => rotate({ dataDir, report: context.say }));
      const rows = Object.values(resealed).reduce((sum, count) => sum + count, 0);
      return {
        document: { resealed },
        lines: [
          `The master key is another one now: ${rows} secrets are sealed anew. The old key opens nothing any more but older backups.`,
        ],
      };
    }),
  );
}
