import { randomBytes } from "node:crypto";
import { lstat, mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";

const { uid } = userInfo();
const FOLDER = join(tmpdir(), `treadle-tests-kept-${uid}`);

/**
 * What takes its time to make and is the same for every test file, kept from one file to the next under its name. What was made
 * for another `key` does not count and gives way. Files that ask at the same moment may each make it.
 */
export async function keepText(name: string, key: string, make: () => Promise<string>): Promise<string> {
  await mkdir(FOLDER, { recursive: true, mode: 0o700 });
  // Nobody else may say what is in there.
  if ((await lstat(FOLDER)).uid !== uid) return make();
  const path = join(FOLDER, name);
  const kept = await readFile(path, "utf8").catch(() => "");
  if (kept.startsWith(`${key}\n`)) return kept.slice(key.length + 1);
  const made = await make();
  const draft = `${path}.${randomBytes(6).toString("hex")}`;
  await writeFile(draft, `${key}\n${made}`, { mode: 0o600 });
  await rename(draft, path);
  return made;
}
