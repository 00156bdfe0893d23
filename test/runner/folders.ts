import { chmodSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

/** A folder below the system's temporary one, which the sandbox's user can pass. */
export function makeFolder(name: string): string {
  const folder = mkdtempSync(join(realpathSync(tmpdir()), `treadle-${name}-`));
  chmodSync(folder, 0o755);
  return folder;
}

/** Makes a folder with files that everybody may read, whatever the umask. */
export function writeFolder(folder: string, files: Readonly<Record<string, string>>): string {
  const parents = new Set([dirname(folder), folder]);
  mkdirSync(folder, { recursive: true });
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    parents.add(dirname(join(folder, path)));
    writeFileSync(join(folder, path), content);
    chmodSync(join(folder, path), 0o644);
  }
  for (const parent of parents) chmodSync(parent, 0o755);
  return folder;
}

/** Everybody may pass every folder from here down. */
export function openPath(folder: string): void {
  chmodSync(folder, 0o755);
  for (const entry of readdirSync(folder, { withFileTypes: true }))
    if (entry.isDirectory()) openPath(join(folder, entry.name));
}
