import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import type { z } from "zod";
import type { ScriptFolder } from "../../domain/api/scripts.ts";
import type { CommitFile } from "../publish/git-objects.ts";
import type { Client } from "./client.ts";
import type { Context } from "./command.ts";
import { Refusal } from "./refusal.ts";

/**
 * Returns the files of the workflow that a script makes: its inputs and packages are found by the service, which parses it and runs
 * nothing. Says what it has found, and what is worth a look.
 */
export async function readScriptFolder(
  context: Pick<Context, "say">,
  client: Client,
  path: string,
  account: string | undefined,
): Promise<readonly CommitFile[]> {
  const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    throw new Refusal("No such file", `${path} cannot be read (${error.code}).`, { cause: error });
  });
  const name = basename(path);
  const { files, notes } = await client.post<z.infer<typeof ScriptFolder>>("/api/scripts", {
    query: { account },
    json: { name, text },
  });
  const made = files.filter((file) => file.path !== name);
  context.say(`Read ${name} and made ${made.map((file) => file.path).join(" and ")} for it.`);
  for (const note of notes) context.say(`Note: ${note}`);
  return files.map((file) => ({ path: file.path, content: Buffer.from(file.text), executable: false }));
}
