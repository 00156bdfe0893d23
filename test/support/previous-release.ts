import { execFile } from "node:child_process";
import { chmod, copyFile, mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const BUILD_MS_MAX = 900_000;
const run = promisify(execFile);

/** Another revision of the project, built, with the packages of this checkout. The caller removes it. */
export async function aCheckout(revision: string): Promise<{ checkout: string; remove: () => Promise<void> }> {
  const checkout = await mkdtemp(join(tmpdir(), "treadle-previous-"));
  const remove = () => rm(checkout, { recursive: true, force: true });
  try {
    await chmod(checkout, 0o755);
    const archive = join(checkout, ".archive.tar");
    await run("git", ["archive", "--output", archive, revision], { cwd: ROOT });
    await run("tar", ["--extract", "--file", archive, "--directory", checkout]);
    await rm(archive);
    // Its own list of packages would have them installed anew, into the folder of this checkout.
    for (const name of ["package.json", "package-lock.json"]) await copyFile(join(ROOT, name), join(checkout, name));
    await symlink(join(ROOT, "node_modules"), join(checkout, "node_modules"));
    await run(process.execPath, [join(checkout, "bin/treadle"), "--version"], { cwd: checkout, timeout: BUILD_MS_MAX });
    return { checkout, remove };
  } catch (error) {
    await remove();
    throw error;
  }
}
