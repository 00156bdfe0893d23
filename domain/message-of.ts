/**
 * Returns the text of anything that was thrown: its message if it is an error, else the value as text. Node says nothing but what
 * each attempt came to, where a host with two addresses answers on neither.
 */
export function messageOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return String(thrown);
  if (thrown.message === "" && thrown instanceof AggregateError) return thrown.errors.map(messageOf).join("; ");
  return thrown.message;
}
