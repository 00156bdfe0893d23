import { quote } from "./json-values.ts";
import type { FileInput, FileListInput } from "./manifest.ts";
import { formatSize } from "./sizes.ts";

/** What is known of an uploaded file without opening it. */
export interface UploadedFile {
  /** As the sender called it. */
  readonly fileName: string;
  readonly bytes: number;
  /** As the sender declared it; parameters such as a charset are ignored. */
  readonly contentType: string;
}

/** Everything that is wrong with the files given for an input; none given is not looked at here. */
export function checkUploads(input: FileInput | FileListInput, files: readonly UploadedFile[]): string[] {
  const problems: string[] = [];
  const filesMax = input.kind === "file" ? 1 : input.filesMax;
  if (files.length > filesMax) {
    problems.push(
      input.kind === "file"
        ? `takes one file, not ${files.length}.`
        : `takes at most ${filesMax} files, not ${files.length}.`,
    );
  }
  for (const file of files) {
    if (!isAccepted(input.accept, file))
      problems.push(`${quote(file.fileName)} is not accepted. Send ${input.accept.join(", ")}.`);
    if (file.bytes > input.bytesMax) problems.push(explainSize(input.bytesMax, file.fileName));
  }
  return problems;
}

/** The words for a file over its limit; the code that stops an upload half way says the same. */
export function explainSize(bytesMax: number, fileName: string): string {
  return `${quote(fileName)} is larger than ${formatSize(bytesMax)}.`;
}

/** Whether a file's name or declared type is one of `accept` (in lower case; empty accepts everything). */
function isAccepted(accept: readonly string[], file: Pick<UploadedFile, "fileName" | "contentType">): boolean {
  if (accept.length === 0) return true;
  const name = file.fileName.toLowerCase();
  const type = (file.contentType.split(";")[0] as string).trim().toLowerCase();
  return accept.some((wanted) => {
    if (wanted.startsWith(".")) return name.length > wanted.length && name.endsWith(wanted);
    return wanted.endsWith("/*") ? type.startsWith(wanted.slice(0, -1)) : type === wanted;
  });
}
