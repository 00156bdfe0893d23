import { mkdir, readdir, writeFile } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import type { Command } from "commander";
import { type Act, addCommand, type Context } from "./command.ts";
import type { Answer } from "./io.ts";
import { Refusal } from "./refusal.ts";
import { readScriptFolder } from "./script.ts";

const SKELETON = [
  {
    path: "config.yaml",
    text: `inputs:
  name: { type: string, default: World } # docs/manifest.md has every type
triggers:
  api: { enabled: true }
`,
  },
  {
    path: "main.py",
    text: `def main(name: str) -> dict:
    print("Working for", name)
    return {"greeting": f"Hello, {name}!"}
`,
  },
];

/** `init [FILE.py] [DIR]`: writes a folder that can be published, of a script where one is given. */
export function addInitCommand(program: Command, act: Act): void {
  addCommand(program, "init", "write a folder that can be published: a small one to begin with, or one of a script")
    .argument("[script]", "a Python file, whose inputs and packages are found")
    .argument("[dir]", "the new folder; named after the script unless given")
    .option("--account <name>", "the account that asks")
    .action(act<{ account?: string }>(init));
}

async function init(
  context: Context,
  [first, second]: readonly string[],
  { account }: { account?: string },
): Promise<Answer> {
  const script = first?.endsWith(".py") === true ? resolve(context.io.cwd, first) : undefined;
  const named = script === undefined ? first : second;
  const beside = script === undefined ? "workflow" : join(dirname(script), basename(script, ".py"));
  const folder = resolve(context.io.cwd, named ?? beside);
  const there = await readdir(folder).catch(() => []);
  if (there.length > 0) throw new Refusal("Conflict", `${folder} has files already. Name a new folder.`);
  const files =
    script === undefined
      ? SKELETON.map(({ path, text }) => ({ path, content: Buffer.from(text) }))
      : await readScriptFolder(context, await context.client(), script, account);
  await mkdir(folder, { recursive: true });
  for (const { path, content } of files) await writeFile(join(folder, path), content);
  const lines = [...files.map(({ path }) => join(folder, path)), `Publish it by "treadle publish ${named ?? beside}".`];
  return { document: { folder, files: files.map(({ path }) => path) }, lines };
}
