import { Readable } from "node:stream";
import tar, { type Header } from "tar-stream";
import type { FileProblem } from "../../domain/errors.ts";
import { findPathProblem } from "../../domain/file-path.ts";
import { FILES_MAX, FOLDER_BYTES_MAX, problemOf, tooManyFiles } from "./folder.ts";
import type { CommitFile } from "./git-objects.ts";

/** Headers, padding and long names of 1,000 files and their folders fit in this beside the content. */
const OVERHEAD_BYTES_MAX = 8_000_000;
export const ARCHIVE_BYTES_MAX = FOLDER_BYTES_MAX + OVERHEAD_BYTES_MAX;
const ENTRIES_MAX = 5 * FILES_MAX;
const PROBLEMS_MAX = 100;
const SHOWN_CHARACTERS_MAX = 255;

const WORDS_FOR_TYPE: Readonly<Record<string, string>> = {
  link: "a hard link",
  symlink: "a symbolic link",
  "character-device": "a device",
  "block-device": "a device",
  fifo: "a named pipe",
};

export type Archive =
  | { readonly kind: "files"; readonly files: CommitFile[] }
  | { readonly kind: "problems"; readonly problems: FileProblem[] }
  | { readonly kind: "too_large"; readonly message: string }
  | { readonly kind: "malformed"; readonly message: string };

/** A tar stream of files, in the form `readArchive` takes. Content is read from memory: commits are small. */
export function createArchive(files: readonly CommitFile[]): Readable {
  const pack = tar.pack();
  for (const file of files) {
    const mode = file.executable ? 0o755 : 0o644;
    pack.entry({ name: file.path, mode, mtime: new Date(0), type: "file" }, file.content);
  }
  pack.finalize();
  // tar-stream's streams are not Node's own; piped into a connection that closes, they would end the process.
  return Readable.from(pack as unknown as AsyncIterable<Buffer>);
}

/**
 * Reads a tar of a folder as it arrives. Every header is checked before a byte of its content is kept. Links, devices
 * and bad paths become problems, and their content is skipped. Too much of anything ends the reading at once
 * (`too_large`), so that at most `ARCHIVE_BYTES_MAX` bytes are ever read. Leading `.//` and folders, which other tar
 * programs write, are accepted and mean nothing.
 */
export async function readArchive(source: AsyncIterable<Uint8Array>): Promise<Archive> {
  const reading = new ArchiveReading();
  const extract = tar.extract();
  let failure: Error | undefined;
  const ended = new Promise<void>((resolve) => {
    extract.on("error", (error: Error) => {
      failure = error;
      resolve();
    });
    extract.on("close", () => resolve());
  });
  extract.on("entry", (header, content, next) => reading.take(header, content as unknown as Readable, next));
  try {
    let bytes = 0;
    for await (const chunk of source) {
      bytes += chunk.length;
      if (bytes > ARCHIVE_BYTES_MAX)
        reading.stop(`The archive is larger than ${ARCHIVE_BYTES_MAX.toLocaleString("en")} bytes.`);
      if (reading.tooLarge !== undefined) break;
      if (!extract.write(chunk)) await Promise.race([drained(extract), ended]);
      if (failure !== undefined) break;
    }
    if (failure === undefined && reading.tooLarge === undefined) {
      extract.end(Buffer.alloc(0));
      await ended;
    }
  } finally {
    extract.destroy();
  }
  if (failure !== undefined)
    return { kind: "malformed", message: `The body is not a whole tar archive: ${failure.message}.` };
  return reading.result();
}

/** A name may have a million characters, and a problem is for a person. */
function shorten(path: string): string {
  return path.length > SHOWN_CHARACTERS_MAX ? `${path.slice(0, SHOWN_CHARACTERS_MAX)}…` : path;
}

function drained(extract: ReturnType<typeof tar.extract>): Promise<void> {
  return new Promise((resolve) => extract.once("drain", () => resolve()));
}

class ArchiveReading {
  readonly #files: CommitFile[] = [];
  readonly #problems: FileProblem[] = [];
  #entries = 0;
  #bytes = 0;
  tooLarge: string | undefined;

  stop(message: string): void {
    this.tooLarge ??= message;
  }

  result(): Archive {
    if (this.tooLarge !== undefined) return { kind: "too_large", message: this.tooLarge };
    if (this.#problems.length > 0) return { kind: "problems", problems: this.#problems };
    return { kind: "files", files: this.#files };
  }

  take(header: Header, content: Readable, next: () => void): void {
    const path = header.name.replace(/^(\.\/)+/, "");
    // An archive that ends inside a file fails here too; unheard, that would end the whole process.
    content.on("error", () => undefined);
    if (!this.#accepts(header, path)) {
      content.on("end", next);
      content.resume();
      return;
    }
    const chunks: Buffer[] = [];
    content.on("data", (chunk: Buffer) => chunks.push(chunk));
    content.on("end", () => {
      this.#files.push({ path, content: Buffer.concat(chunks), executable: (header.mode & 0o100) !== 0 });
      next();
    });
  }

  #accepts(header: Header, path: string): boolean {
    this.#entries += 1;
    if (this.#entries > ENTRIES_MAX)
      this.stop(`The archive has more than ${ENTRIES_MAX.toLocaleString("en")} entries.`);
    if (this.tooLarge !== undefined) return false;
    if (header.type === "directory") {
      const folder = path.replace(/\/$/, "");
      if (folder !== "" && folder !== ".") this.#judge(folder, findPathProblem(folder));
      return false;
    }
    if (header.type !== "file" && header.type !== "contiguous-file") {
      const what = WORDS_FOR_TYPE[header.type] ?? "of an unknown type";
      this.#judge(path, `The entry is ${what}. A commit has regular files only.`);
      return false;
    }
    return this.#judge(path, findPathProblem(path)) && this.#hasRoomFor(header.size);
  }

  #judge(path: string, problem: string | undefined): boolean {
    if (problem === undefined) return true;
    if (this.#problems.length < PROBLEMS_MAX) this.#problems.push(problemOf(shorten(path), problem));
    return false;
  }

  #hasRoomFor(bytes: number): boolean {
    this.#bytes += bytes;
    if (this.#files.length >= FILES_MAX) this.stop(tooManyFiles(`more than ${FILES_MAX.toLocaleString("en")}`));
    if (this.#bytes > FOLDER_BYTES_MAX) {
      this.stop(
        `The files are more than ${FOLDER_BYTES_MAX.toLocaleString("en")} bytes in all, the most a commit can have.`,
      );
    }
    return this.tooLarge === undefined;
  }
}
