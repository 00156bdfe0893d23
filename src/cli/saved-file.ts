import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import type { Client } from "./client.ts";
import { Refusal } from "./refusal.ts";

/** Writes what a route answers to a file, over what is there, making its folders; answers how many bytes. */
export async function saveFile(client: Client, source: string, path: string): Promise<number> {
  try {
    await mkdir(dirname(path), { recursive: true });
    return await client.save(source, path);
  } catch (error) {
    const { code = "", syscall } = error as NodeJS.ErrnoException;
    if (error instanceof Refusal || syscall === undefined) throw error;
    throw new Refusal("Not allowed", `${path} cannot be written (${code}).`, { cause: error });
  }
}
