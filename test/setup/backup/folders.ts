import { mkdir, readdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Storage } from "../../../storage/storage.ts";
import { listKeys } from "../../db/retained.ts";

/** Makes files of their content, by their paths in a folder, as only their user can read them. */
export async function writeFiles(into: string, files: Record<string, string>): Promise<void> {
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(into, path)), { recursive: true });
    await writeFile(join(into, path), content, { mode: 0o600 });
  }
}

/** The paths of all files below a folder. */
export async function listFiles(of: string): Promise<string[]> {
  const entries = await readdir(of, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => !entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name).slice(of.length + 1))
    .sort();
}

/** All that a storage has: key and content. */
export async function readAll(storage: Storage): Promise<string[]> {
  const read = async (key: string): Promise<string> => {
    const chunks: Buffer[] = [];
    for await (const chunk of await storage.get(key)) chunks.push(chunk as Buffer);
    return `${key}: ${Buffer.concat(chunks).toString()}`;
  };
  return Promise.all((await listKeys(storage)).map(read));
}
