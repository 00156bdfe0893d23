import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { isNeverPublished } from "../publish/local-folder.ts";
import type { Client } from "./client.ts";
import { getDraft, type SavedDocument, saveDraft } from "./draft-document.ts";
import type { CliIo } from "./io.ts";
import { readFiles } from "./publish.ts";
import { Refusal } from "./refusal.ts";

/** What editors write beside a file while it is open or saved: vim, Emacs, JetBrains, GNOME, Kate and others. */
const OF_EDITORS = /^\.#|^#.*#$|~$|\.sw[a-z]$|^4913$|___jb_(?:tmp|old)___$|^\.goutputstream-|\.kate-swp$/;

/** True of a file or folder, by its own name, that is no work of a person on the workflow. */
export function isNoWork(name: string): boolean {
  return isNeverPublished(name) || OF_EDITORS.test(name);
}

/** The whole path of a folder that was named. Throws a Refusal when there is none. */
export async function requireFolder({ cwd }: Pick<CliIo, "cwd">, dir: string): Promise<string> {
  const folder = resolve(cwd, dir);
  const isFolder = await stat(folder).then(
    (found) => found.isDirectory(),
    () => false,
  );
  if (isFolder) return folder;
  throw new Refusal("No such folder", `There is no folder ${folder}.`);
}

/**
 * Replaces all files of the caller's draft by those of the folder. Files that the folder lacks are deleted. `isLeftOut` says by
 * its name what is no part of the folder, in place of what publishing leaves out.
 */
export async function saveFolderAsDraft(
  client: Client,
  workflow: string,
  folder: string,
  isLeftOut?: (name: string) => boolean,
): Promise<SavedDocument> {
  const files = await readFiles(folder, { checked: false, ...(isLeftOut === undefined ? {} : { isLeftOut }) });
  const draft = await getDraft(client, workflow);
  const kept = new Set(files.map(({ path }) => path));
  const changes = [
    ...draft.files.flatMap(({ path }) => (kept.has(path) ? [] : [{ path, delete: true }])),
    ...files.map(({ path, content, executable }) => ({ path, base64: content.toString("base64"), executable })),
  ];
  if (changes.length === 0) throw new Refusal("Invalid request", `${folder} has no files.`);
  return saveDraft(client, workflow, { version: draft.version, changes });
}

/**
 * The same for running it at once, without temporary files of editors. Throws a Refusal with each problem of `config.yaml` and
 * its place. To the operator's token, which has no drafts, it says what to do.
 */
export async function keepFolderAsDraft(client: Client, workflow: string, folder: string): Promise<SavedDocument> {
  const saved = await saveFolderAsDraft(client, workflow, folder, isNoWork).catch((error: unknown) => {
    throw isOfOperator(error) ? explainOperator(client, error) : error;
  });
  if (saved.problems.length === 0) return saved;
  throw new Refusal("Invalid request", "The draft cannot be executed as it is.", { details: saved.problems });
}

function isOfOperator(error: unknown): error is Refusal {
  return error instanceof Refusal && error.error === "Forbidden" && error.message.startsWith("The operator's token");
}

function explainOperator({ url }: Client, cause: Refusal): Refusal {
  const lines = [cause.message, `"treadle login ${url}" keeps a token of yours, and commands use that one then.`];
  return new Refusal(cause.error, lines.join("\n"), { cause });
}
