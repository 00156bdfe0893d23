/** A problem as it is shown under its control, where the name need not be said. */
export function toSentence(message: string): string {
  const short = message.replace(/^is required\. Send it as multipart.*$/, "is required.");
  if (short === "is required.") return "This is required.";
  return short.charAt(0).toUpperCase() + short.slice(1);
}
