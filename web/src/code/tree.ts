import { findPathProblem, foldPath } from "../../../domain/file-path.ts";

/** A line of the file tree, in the order in which it is shown. */
export interface TreeRow {
  readonly path: string;
  /** The last segment of the path. */
  readonly name: string;
  readonly kind: "file" | "folder";
  /** 1: at the top. */
  readonly level: number;
  /** Of a folder. */
  readonly expanded: boolean;
  /** Among its siblings, from 1, and how many they are: what screen readers say. */
  readonly position: number;
  readonly siblings: number;
}

interface Folder {
  readonly folders: Map<string, Folder>;
  readonly files: string[];
}

/** The lines that are seen while the folders in `collapsed` are shut: folders first, each by name. */
export function listRows(paths: readonly string[], collapsed: ReadonlySet<string>): TreeRow[] {
  const root = emptyFolder();
  for (const path of paths) {
    const segments = path.split("/");
    let folder = root;
    for (const segment of segments.slice(0, -1)) {
      const next = folder.folders.get(segment) ?? emptyFolder();
      folder.folders.set(segment, next);
      folder = next;
    }
    folder.files.push(segments.at(-1) as string);
  }
  return [...walk(root, "", 1, collapsed)];
}

function emptyFolder(): Folder {
  return { folders: new Map(), files: [] };
}

function* walk(folder: Folder, prefix: string, level: number, collapsed: ReadonlySet<string>): Generator<TreeRow> {
  const folders = [...folder.folders.keys()].toSorted(compareNames);
  const files = folder.files.toSorted(compareNames);
  const siblings = folders.length + files.length;
  for (const [index, name] of folders.entries()) {
    const path = `${prefix}${name}`;
    const expanded = !collapsed.has(path);
    yield { path, name, kind: "folder", level, expanded, position: index + 1, siblings };
    if (expanded) yield* walk(folder.folders.get(name) as Folder, `${path}/`, level + 1, collapsed);
  }
  for (const [index, name] of files.entries()) {
    const position = folders.length + index + 1;
    yield { path: `${prefix}${name}`, name, kind: "file", level, expanded: false, position, siblings };
  }
}

function compareNames(one: string, other: string): number {
  return one.localeCompare(other, "en", { numeric: true, sensitivity: "base" }) || (one < other ? -1 : 1);
}

export type TreeMove =
  | { readonly kind: "focus"; readonly path: string }
  | { readonly kind: "expand" | "collapse"; readonly path: string }
  | { readonly kind: "none" };

/** What a key does in the tree, as the ARIA pattern of trees has it: arrows, Home, End, and a letter for the next name. */
export function findMove(rows: readonly TreeRow[], current: string, key: string): TreeMove {
  const at = rows.findIndex(({ path }) => path === current);
  const row = rows[at];
  if (row === undefined) return focus(rows[0]);
  switch (key) {
    case "ArrowDown":
      return focus(rows[at + 1]);
    case "ArrowUp":
      return focus(rows[at - 1]);
    case "Home":
      return focus(rows[0]);
    case "End":
      return focus(rows.at(-1));
    case "ArrowRight":
      if (row.kind === "file") return { kind: "none" };
      return row.expanded ? focus(rows[at + 1]) : { kind: "expand", path: row.path };
    case "ArrowLeft":
      if (row.kind === "folder" && row.expanded) return { kind: "collapse", path: row.path };
      return focus(rows.findLast((other, index) => index < at && other.level === row.level - 1));
  }
  if (key.length !== 1 || key === " ") return { kind: "none" };
  const begins = ({ name }: TreeRow): boolean => name.toLowerCase().startsWith(key.toLowerCase());
  return focus([...rows.slice(at + 1), ...rows.slice(0, at)].find(begins));
}

function focus(row: TreeRow | undefined): TreeMove {
  return row === undefined ? { kind: "none" } : { kind: "focus", path: row.path };
}

/** Why a file cannot get this path beside the others; undefined when it can. `self` is the path it has now. */
export function findNameProblem(path: string, paths: readonly string[], self?: string): string | undefined {
  const problem = findPathProblem(path);
  if (problem !== undefined) return problem;
  const others = paths.filter((other) => other !== self);
  if (others.includes(path)) return `There is a file ${path} already.`;
  if (others.some((other) => other.startsWith(`${path}/`))) return `There is a folder ${path} already.`;
  const asFolder = others.find((other) => path.startsWith(`${other}/`));
  if (asFolder !== undefined) return `${asFolder} is a file, and cannot hold others.`;
  const lookalike = others.find((other) => foldPath(other) === foldPath(path));
  if (lookalike !== undefined) return `The name differs from ${lookalike} only in case or accents.`;
  return undefined;
}

/** The files that a row stands for: itself, or everything in the folder. */
export function listUnder(paths: readonly string[], path: string): string[] {
  return paths.filter((other) => other === path || other.startsWith(`${path}/`));
}

/** The folder a new file goes to when this row is the current one; empty at the top, otherwise with a slash at its end. */
export function folderOf(row: Pick<TreeRow, "path" | "kind"> | undefined): string {
  if (row === undefined) return "";
  if (row.kind === "folder") return `${row.path}/`;
  return row.path.slice(0, row.path.lastIndexOf("/") + 1);
}
