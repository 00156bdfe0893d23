import { readFile, stat } from "node:fs/promises";
import { resolve } from "node:path";
import type { Command } from "commander";
import { type Act, addCommand, type Context } from "./command.ts";
import { changeDraft, draftPathOf, getDraft } from "./draft-document.ts";
import type { Answer } from "./io.ts";
import { Refusal } from "./refusal.ts";
import { saveFile } from "./saved-file.ts";

const EXECUTABLE = 0o100;

/** `drafts get|put|rename|delete`: single files. */
export function addDraftFileCommands(drafts: Command, act: Act): void {
  addCommand(drafts, "get", "write a file of your draft to this machine")
    .argument("<workflow>")
    .argument("<path>", "of the file in the workflow")
    .argument("<file>", "where to write it")
    .action(act(getFile));
  addCommand(drafts, "put", "put a file of this machine into your draft")
    .argument("<workflow>")
    .argument("<path>", "of the file in the workflow")
    .argument("<file>", "what to read")
    .action(act(putFile));
  addCommand(drafts, "rename", "give a file or folder of your draft another path")
    .argument("<workflow>")
    .argument("<path>")
    .argument("<new-path>")
    .action(act((context, [workflow = "", path, renameTo]) => change(context, workflow, { path, renameTo })));
  addCommand(drafts, "delete", "delete a file or folder of your draft")
    .argument("<workflow>")
    .argument("<path>")
    .action(act((context, [workflow = "", path]) => change(context, workflow, { path, delete: true })));
}

async function getFile(context: Context, [workflow = "", path = "", file = ""]: readonly string[]): Promise<Answer> {
  const target = resolve(context.io.cwd, file);
  const client = await context.client();
  const bytes = await saveFile(client, `${draftPathOf(workflow)}/files/${encodeURIComponent(path)}`, target);
  return { document: { path, file: target, bytes }, lines: [`${target}  ${bytes} bytes`] };
}

async function putFile(context: Context, [workflow = "", path = "", file = ""]: readonly string[]): Promise<Answer> {
  const source = resolve(context.io.cwd, file);
  const found = await stat(source).catch((error: NodeJS.ErrnoException) => {
    throw new Refusal("No such file", `${source} cannot be read (${error.code}).`, { cause: error });
  });
  if (!found.isFile()) throw new Refusal("No such file", `${source} is not a file.`);
  const base64 = (await readFile(source)).toString("base64");
  return change(context, workflow, { path, base64, executable: (found.mode & EXECUTABLE) !== 0 });
}

async function change(context: Context, workflow: string, one: object): Promise<Answer> {
  const client = await context.client();
  const { version } = await getDraft(client, workflow);
  return changeDraft(client, workflow, { version, changes: [one] });
}
