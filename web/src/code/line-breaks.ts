/** What ends a line for the editor, for Python and for YAML: of Unix, of Windows, of an old Mac. */
export const LINE_BREAKS = /\r\n?|\n/g;

/** Returns a text as the editor holds it: each line break is one character. */
export function toLineFeeds(text: string): string {
  return text.replaceAll(LINE_BREAKS, "\n");
}

/** Returns what the editor holds with the line breaks of the text before it, so that a change of one line is one. */
export function withBreaksOf(before: string, written: string): string {
  return before.includes("\r\n") ? written.replaceAll("\n", "\r\n") : written;
}
