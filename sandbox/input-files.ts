import { chmod, chown, copyFile, link, mkdir, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { JsonValue } from "../domain/manifest/json-values.ts";
import type { Mount } from "./bubblewrap.ts";
import type { InputFiles } from "./request.ts";

export interface User {
  readonly uid: number;
  readonly gid: number;
}

/** For `placeInputs`: any user of the sandbox, by the bits of others. Only that user can then pass its folder. */
export const ANYBODY: User = { uid: -1, gid: -1 };

export interface PlacedInputs {
  /** Host file → path below the working folder. */
  readonly mounts: readonly Mount[];
  /** What `inputs.json` says for each file input: a path below the working folder, or a list of them. */
  readonly values: Readonly<Record<string, JsonValue>>;
}

/**
 * Gives every input file its place below `inputs/`: under its own name, and in a folder named after the input where two
 * would be equal. A file that the sandbox's user cannot read gets a link or a copy in `spoolInputsDir` that it can.
 */
export async function placeInputs(
  files: readonly InputFiles[],
  spoolInputsDir: string,
  user: User,
): Promise<PlacedInputs> {
  const taken = new Set<string>();
  const mounts: Mount[] = [];
  const values: Record<string, JsonValue> = {};
  for (const { input, list, files: own } of files) {
    const paths: string[] = [];
    for (const { path, fileName } of own) {
      checkFileName(fileName, input);
      const to = choosePath(input, fileName, taken);
      const from = (await isReadableBy(user, path))
        ? path
        : await makeReadable(path, join(spoolInputsDir, String(mounts.length)), user);
      mounts.push({ from, to });
      paths.push(to);
    }
    if (list) values[input] = paths;
    else if (paths[0] !== undefined) values[input] = paths[0];
  }
  return { mounts, values };
}

function choosePath(input: string, fileName: string, taken: Set<string>): string {
  const folder = input.replaceAll(/[^A-Za-z0-9_-]/g, "_");
  const candidates = [`inputs/${fileName}`, `inputs/${folder}/${fileName}`];
  for (let number = 2; ; number++) {
    const path = candidates.shift() ?? `inputs/${folder}-${number}/${fileName}`;
    // A folder must not be needed where a file is, nor a file where a folder is.
    const clashes =
      taken.has(path) || taken.has(dirname(path)) || [...taken].some((other) => other.startsWith(`${path}/`));
    if (clashes) continue;
    taken.add(path);
    return path;
  }
}

function checkFileName(fileName: string, input: string): void {
  const bad = fileName === "" || fileName === "." || fileName === ".." || /[/\0]/.test(fileName);
  if (bad || Buffer.byteLength(fileName) > 255) {
    throw new RangeError(`The file of input ${input} has no name a file can have: ${JSON.stringify(fileName)}.`);
  }
}

/** Whether a user may open the file: its own bits, and the way to it. Asked for another user, so access(2) cannot tell. */
async function isReadableBy(user: User, path: string): Promise<boolean> {
  if (!(await allows(user, path, 4))) return false;
  for (let folder = dirname(path); ; folder = dirname(folder)) {
    if (!(await allows(user, folder, 1))) return false;
    if (folder === dirname(folder)) return true;
  }
}

async function allows(user: User, path: string, bit: 1 | 4): Promise<boolean> {
  const { mode, uid, gid } = await stat(path);
  const shift = uid === user.uid ? 6 : gid === user.gid ? 3 : 0;
  return ((mode >> shift) & bit) !== 0;
}

/** A hard link costs nothing, but shares the file's bits; where those do not let the user in, it must be a copy. */
async function makeReadable(path: string, target: string, user: User): Promise<string> {
  await mkdir(dirname(target), { recursive: true });
  if (await allows(user, path, 4)) {
    const linked = await link(path, target).then(
      () => true,
      () => false, // Another file system.
    );
    if (linked) return target;
  }
  await copyFile(path, target);
  await chmod(target, user === ANYBODY ? 0o644 : 0o600);
  if (user !== ANYBODY) await chown(target, user.uid, user.gid);
  return target;
}
