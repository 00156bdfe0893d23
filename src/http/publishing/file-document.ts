import type { CommitFile } from "../../publish/git-objects.ts";

/** Longer texts are for downloading. */
const TEXT_BYTES_MAX = 1_048_576;

/** A file as the editor shows it; `text` null when it is not text, or too long. */
export function toFileDocument({ path, content, executable }: CommitFile) {
  return { path, bytes: content.length, text: toText(content), executable };
}

/** The text of a file, exactly: written back it is the same bytes. Null when it is not text, or too long. */
export function toText(content: Buffer): string | null {
  if (content.length > TEXT_BYTES_MAX || content.includes(0)) return null;
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(content);
  } catch (error) {
    if ((error as { code?: unknown }).code !== "ERR_ENCODING_INVALID_ENCODED_DATA") throw error;
    return null;
  }
}
