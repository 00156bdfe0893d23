import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { toDiskFullError } from "../../../src/setup/servers/disk-full.ts";
import { startPostgres } from "../../../src/setup/servers/postgres.ts";
import { aFolder, afterwards, RUN_AS } from "./surroundings.ts";

test("toDiskFullError, when the last words are about something else, answers undefined", () => {
  expect(toDiskFullError(["FATAL: could not map shared memory"], "/data")).toBeUndefined();
  expect(toDiskFullError(new Error("EACCES: permission denied"), "/data")).toBeUndefined();
});

test("toDiskFullError, when servers or the system say so, names the folder and what to do", () => {
  for (const words of [
    'PANIC: could not write to file "pg_wal": No space left on device',
    "unable to start: database or disk is full (13)",
    "ENOSPC: no space left on device, mkdir",
  ]) {
    expect(toDiskFullError([words], "/data")?.message).toMatch(
      /^The disk that holds \/data is full \(.*\)\. Free space on it, or put the data dir elsewhere/,
    );
  }
});

/** A disk of 24 MB, where the system lets us mount one: less than the 40 MB that an empty database takes. */
function aTinyDisk(): string | undefined {
  const folder = aFolder();
  const { status } = spawnSync("mount", ["-t", "tmpfs", "-o", "size=24m,mode=0755", "tmpfs", folder]);
  if (status !== 0) return undefined;
  afterwards(() => spawnSync("umount", [folder]));
  return folder;
}

const disk = aTinyDisk();
if (disk !== undefined) {
  test("startPostgres, on a disk that is really full, says so, leaves nothing, and starts when there is space again", async () => {
    const dataDir = join(disk, "data");
    const options = { env: {}, dataDir, runAs: RUN_AS, report: () => {}, log: () => {} };
    // Which step meets the end of the disk depends on whether the binaries had to be copied there first.
    await expect(startPostgres(options)).rejects.toThrow(`The disk that holds ${dataDir}`);
    expect(readdirSync(join(dataDir, "postgres")).filter((name) => name.startsWith("data"))).toEqual([]);

    spawnSync("mount", ["-o", "remount,size=200m", disk]);
    const postgres = await startPostgres(options);
    afterwards(() => postgres.stop());
    await postgres.stop();

    // Full again, with the data there: the server cannot even write its pid file.
    mkdirSync(join(disk, "ballast"));
    for (let file = 0; file < 1_000; file += 1) {
      try {
        writeFileSync(join(disk, "ballast", String(file)), Buffer.alloc(file < 300 ? 2 ** 20 : 4_096));
      } catch {
        // keeps filling with smaller files
      }
    }
    await expect(startPostgres(options)).rejects.toThrow(`The disk that holds ${dataDir}`);
    rmSync(join(disk, "ballast"), { recursive: true });
    const again = await startPostgres(options);
    afterwards(() => again.stop());
    await again.stop();
  });
}
