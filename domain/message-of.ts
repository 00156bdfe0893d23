/** Returns the text of anything that was thrown: its message if it is an error, else the value as text. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
