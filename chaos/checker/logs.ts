/** A line with which an attempt goes on with the log of those before it. */
const CONTINUED = /^.*"stream":"system","text":"Attempt \d+ begins\. .*$/gm;

/** Returns the part of a kept log that its last attempt has written. */
export function lastPartOf(log: string): string {
  return log.split(CONTINUED).at(-1) ?? "";
}
