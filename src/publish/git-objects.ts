import { createHash } from "node:crypto";
import type { GitObject } from "../../db/commits/git-objects.ts";

/** Who git says committed, as that is an act of the service; and who wrote what nobody in particular did. */
const IDENTITY = "Treadle <treadle@localhost>";

const FILE_MODES = { "100644": false, "100755": true } as const;
const FOLDER_MODE = "40000";

/** One file of a published folder. `path` has forward slashes and no leading one. */
export interface CommitFile {
  readonly path: string;
  readonly content: Buffer;
  readonly executable: boolean;
}

/** The content of a file as a buffer again, after it was copied between threads. */
export function toBuffer({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}

export interface TreeEntry {
  readonly name: string;
  readonly kind: "file" | "folder";
  readonly executable: boolean;
  readonly id: string;
}

/** A git object under the id git gives it: SHA-1 over `<kind> <bytes>\0<content>`. */
export function createGitObject(kind: GitObject["kind"], content: Buffer): GitObject {
  const id = createHash("sha1").update(`${kind} ${content.length}\0`).update(content).digest("hex");
  return { id, kind, content };
}

/**
 * The blobs and nested trees of a folder, each object once. Paths must have passed `checkFolder`:
 * one that is both a file and a folder is a bug of ours and throws.
 */
export function createTree(files: readonly CommitFile[]): { treeId: string; objects: GitObject[] } {
  const objects = new Map<string, GitObject>();
  const keep = (object: GitObject): string => {
    objects.set(object.id, object);
    return object.id;
  };
  const treeId = keepTree(nest(files), keep);
  return { treeId, objects: [...objects.values()] };
}

type Folder = Map<string, Folder | CommitFile>;

function nest(files: readonly CommitFile[]): Folder {
  const root: Folder = new Map();
  for (const file of files) {
    const segments = file.path.split("/");
    const name = segments.pop() as string;
    let folder = root;
    for (const segment of segments) {
      const next = folder.get(segment) ?? new Map();
      if (!(next instanceof Map)) throw new RangeError(`${file.path} lies in a file, not a folder.`);
      folder.set(segment, next);
      folder = next;
    }
    if (folder.has(name)) throw new RangeError(`${file.path} is there twice.`);
    folder.set(name, file);
  }
  return root;
}

function keepTree(folder: Folder, keep: (object: GitObject) => string): string {
  const entries = [...folder].map(([name, node]): TreeEntry => {
    if (node instanceof Map) return { name, kind: "folder", executable: false, id: keepTree(node, keep) };
    return { name, kind: "file", executable: node.executable, id: keep(createGitObject("blob", node.content)) };
  });
  return keep(createGitObject("tree", serializeTree(entries)));
}

/** Git sorts by bytes, and a folder as if its name ended with a slash: `a.txt` comes before the folder `a`. */
function serializeTree(entries: readonly TreeEntry[]): Buffer {
  const sortable = entries.map((entry) => ({
    entry,
    key: Buffer.from(entry.kind === "folder" ? `${entry.name}/` : entry.name),
  }));
  sortable.sort((a, b) => Buffer.compare(a.key, b.key));
  return Buffer.concat(
    sortable.flatMap(({ entry }) => [Buffer.from(`${modeOf(entry)} ${entry.name}\0`), Buffer.from(entry.id, "hex")]),
  );
}

function modeOf(entry: TreeEntry): string {
  if (entry.kind === "folder") return FOLDER_MODE;
  return entry.executable ? "100755" : "100644";
}

/** Reads a tree object's content back. Throws on what `createTree` never writes (links, submodules). */
export function parseTree(content: Buffer): TreeEntry[] {
  const entries: TreeEntry[] = [];
  for (let at = 0; at < content.length; ) {
    const space = content.indexOf(0x20, at);
    const zero = content.indexOf(0, space);
    const mode = content.toString("latin1", at, space);
    const name = content.toString("utf8", space + 1, zero);
    const id = content.toString("hex", zero + 1, zero + 21);
    if (mode === FOLDER_MODE) entries.push({ name, kind: "folder", executable: false, id });
    else if (mode in FILE_MODES) {
      entries.push({ name, kind: "file", executable: FILE_MODES[mode as keyof typeof FILE_MODES], id });
    } else throw new RangeError(`A tree has the entry ${JSON.stringify(name)} of mode ${mode}, which is never stored.`);
    at = zero + 21;
  }
  return entries;
}

/**
 * Makes the commit object over a tree. `author` is an email address, or a name without one. The time is kept in whole
 * seconds, UTC; the message ends with one newline.
 */
export function createCommit(commit: {
  treeId: string;
  parentId: string | null;
  author?: string | undefined;
  message: string;
  committedAt: Date;
}): GitObject {
  const at = `${Math.floor(commit.committedAt.getTime() / 1000)} +0000`;
  const parent = commit.parentId === null ? "" : `parent ${commit.parentId}\n`;
  const author = commit.author === undefined ? IDENTITY : toIdentity(commit.author);
  const head = `tree ${commit.treeId}\n${parent}author ${author} ${at}\ncommitter ${IDENTITY} ${at}\n`;
  const text = `${head}\n${commit.message.trimEnd()}\n`;
  return createGitObject("commit", Buffer.from(text));
}

/** Without what ends a name or an address in git's format. */
function toIdentity(author: string): string {
  const name = author.replace(/[<>\p{Cc}]/gu, "");
  return `${name} <${name.includes("@") ? name : `${name}@localhost`}>`;
}
