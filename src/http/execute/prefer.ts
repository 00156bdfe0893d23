/** What a caller would like, as far as this service knows it (RFC 7240). */
export interface Preferences {
  readonly respondAsync: boolean;
  /** Undefined when nothing was said of it. */
  readonly waitSeconds: number | undefined;
  /** Ours: the caller understands informational answers (103). */
  readonly earlyHints: boolean;
}

/**
 * Reads the value of `Prefer`; several fields are joined by commas, as Node does. Of a preference that is there twice the
 * first counts. What is unknown, malformed or cannot be is ignored: a preference never refuses a request.
 */
export function parsePrefer(value: string | undefined): Preferences {
  const given = new Map<string, string>();
  for (const preference of splitOutsideQuotes(value ?? "", ",")) {
    const [named = ""] = splitOutsideQuotes(preference, ";");
    const equals = named.indexOf("=");
    const name = (equals < 0 ? named : named.slice(0, equals)).trim().toLowerCase();
    if (!given.has(name)) given.set(name, equals < 0 ? "" : unquote(named.slice(equals + 1).trim()));
  }
  const wait = given.get("wait");
  return {
    // RFC 7240 2: a preference with an empty value is one without.
    respondAsync: given.get("respond-async") === "",
    waitSeconds: wait !== undefined && /^\d+$/.test(wait) ? Number(wait) : undefined,
    earlyHints: given.get("early-hints") === "",
  };
}

/** How long a call waits, and what of its preferences that honours. */
export interface Wait {
  readonly seconds: number;
  readonly earlyHints: boolean;
  /** The value of `Preference-Applied`, which differs by whether the result came in time; undefined for none. */
  toApplied(ended: boolean): string | undefined;
}

/**
 * Returns how long a call waits: at most `secondsMax`. A caller that asks for more finds in the answer what was
 * applied.
 */
export function chooseWait({ respondAsync, waitSeconds, earlyHints }: Preferences, secondsMax: number): Wait {
  const applied = waitSeconds === undefined ? undefined : Math.min(waitSeconds, secondsMax);
  return {
    seconds: applied ?? (respondAsync ? 0 : secondsMax),
    earlyHints,
    toApplied(ended) {
      const honoured = [
        ...(respondAsync && !ended ? ["respond-async"] : []),
        ...(applied === undefined ? [] : [`wait=${applied}`]),
        ...(earlyHints ? ["early-hints"] : []),
      ];
      return honoured.length === 0 ? undefined : honoured.join(", ");
    },
  };
}

/** Parts of a header's value between separators, those within quoted strings not counted. */
function splitOutsideQuotes(text: string, separator: "," | ";"): string[] {
  const parts: string[] = [];
  let start = 0;
  let quoted = false;
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at];
    if (quoted && character === "\\") at += 1;
    else if (character === '"') quoted = !quoted;
    else if (character === separator && !quoted) {
      parts.push(text.slice(start, at));
      start = at + 1;
    }
  }
  return [...parts, text.slice(start)];
}

function unquote(word: string): string {
  return word.length >= 2 && word.startsWith('"') && word.endsWith('"')
    ? word.slice(1, -1).replaceAll(/\\(.)/g, "$1")
    : word;
}
