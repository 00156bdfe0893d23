import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { RequestHandler } from "express";
import { TemplateList } from "../../../domain/api/workflows.ts";
import type { FileProblem } from "../../../domain/errors.ts";
import { parseManifest } from "../../../domain/manifest/parse.ts";
import { editName } from "../../../domain/manifest/trigger-edit.ts";
import { MANIFEST_FILE } from "../../publish/folder.ts";
import type { CommitFile } from "../../publish/git-objects.ts";
import { readLocalFolder } from "../../publish/local-folder.ts";
import { sendAnswer } from "../answers/body.ts";
import { authorizeAccount } from "../auth/authorize.ts";
import type { AppDeps } from "../deps.ts";
import { EMPTY_TEMPLATE } from "./empty-template.ts";

/** What a new workflow can begin with. */
export interface Template {
  /** The name of its folder. */
  readonly templateId: string;
  readonly name: string;
  readonly description: string;
  readonly files: readonly CommitFile[];
}

/** `GET /templates`: what a new workflow can begin with. */
export function createTemplatesRoute({ db, editor }: Pick<AppDeps, "db" | "editor">): RequestHandler {
  return async (request, response) => {
    await authorizeAccount(db, request, "read");
    const templates = await listTemplates(editor.examplesDir);
    sendAnswer(response, TemplateList, {
      templates: templates.map(({ files, ...template }) => ({ ...template, files: files.map(({ path }) => path) })),
    });
  };
}

/** The empty one, then the folders that could be workflows, by name. What cannot be read, or is none, is left out. */
export async function listTemplates(dir: string): Promise<Template[]> {
  const entries = await readdir(dir, { withFileTypes: true }).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return [];
    throw error;
  });
  const templates: Template[] = [EMPTY_TEMPLATE];
  for (const { name } of entries.filter((entry) => entry.isDirectory()).toSorted(byName)) {
    const folder: { ok: true; files: CommitFile[] } | { ok: false; problems: FileProblem[] } = await readLocalFolder(
      join(dir, name),
    );
    const config = folder.ok ? folder.files.find(({ path }) => path === MANIFEST_FILE) : undefined;
    const parsed = config && parseManifest(config.content.toString("utf8"));
    if (!folder.ok || parsed?.ok !== true) continue;
    const { manifest } = parsed;
    templates.push({
      templateId: name,
      name: manifest.name ?? name,
      description: manifest.description,
      files: folder.files,
    });
  }
  return templates;
}

/** The files for a workflow of this name: the first commit must not give it the name that they had. */
export function nameFiles(files: readonly CommitFile[], name: string): CommitFile[] {
  return files.map((file) => {
    const edit = file.path === MANIFEST_FILE ? editName(file.content.toString("utf8"), name) : undefined;
    return edit?.ok ? { ...file, content: Buffer.from(edit.text) } : file;
  });
}

function byName(one: { name: string }, other: { name: string }): number {
  return one.name < other.name ? -1 : 1;
}
