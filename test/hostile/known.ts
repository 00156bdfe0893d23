/** Entries of the corpus (`group: name`) that the service is known to answer wrongly, and why. To be emptied. */
export const KNOWN: ReadonlyMap<string, string> = new Map([]);
