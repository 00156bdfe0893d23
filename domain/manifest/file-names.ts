const NAME_BYTES_MAX = 255;
const EXTENSION_BYTES_MAX = 64;

/** Control characters, line and paragraph separators, lone surrogates, and the marks that turn the direction of text around. */
export const UNSAFE_CHARACTERS = /[\p{Cc}\p{Zl}\p{Zp}\p{Surrogate}\u202a-\u202e\u2066-\u2069]/gu;

/**
 * Returns the name an uploaded file keeps inside an execution. It is the last path component (of `/` and `\` alike),
 * with unsafe characters as `_`. It has at most 255 bytes, with its extension kept, and is not one of `taken`: a repeat
 * gets ` (2)` before the extension. Never empty, `.` or `..`. Does not add to `taken`; the caller does.
 */
export function safeFileName(name: string, taken: ReadonlySet<string>): string {
  const component = name.split(/[/\\]/).findLast((part) => part !== "") ?? "";
  const clean = component.replace(UNSAFE_CHARACTERS, "_");
  const usable = /^\.{0,2}$/.test(clean.trim()) ? "file" : clean;
  for (let copy = 1; ; copy += 1) {
    const candidate = withSuffix(usable, copy === 1 ? "" : ` (${copy})`);
    if (!taken.has(candidate)) return candidate;
  }
}

function withSuffix(name: string, suffix: string): string {
  const dot = name.lastIndexOf(".");
  const hasExtension = dot > 0 && countBytes(name.slice(dot)) <= EXTENSION_BYTES_MAX;
  const extension = hasExtension ? name.slice(dot) : "";
  const stem = hasExtension ? name.slice(0, dot) : name;
  return truncate(stem, NAME_BYTES_MAX - countBytes(suffix + extension)) + suffix + extension;
}

/** The longest beginning of whole characters that fits. */
function truncate(text: string, bytesMax: number): string {
  let bytes = 0;
  let kept = "";
  for (const character of text) {
    bytes += countBytes(character);
    if (bytes > bytesMax) break;
    kept += character;
  }
  return kept;
}

/** Bytes of the text in UTF-8. Counted by hand: the Temporal sandbox and the browser share no encoder that is cheaper. */
export function countBytes(text: string): number {
  let bytes = 0;
  for (const character of text) {
    const code = character.codePointAt(0) as number;
    bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  }
  return bytes;
}
