import { findNearest } from "../manifest/nearest.ts";

export type TimeZoneCheck = { readonly ok: true } | { readonly ok: false; readonly message: string };

/** Names of today that engines know only as aliases of older ones, so that they are suggested too. */
const NEWER_NAMES = [
  "UTC",
  "America/Nuuk",
  "Asia/Ho_Chi_Minh",
  "Asia/Kathmandu",
  "Asia/Kolkata",
  "Asia/Yangon",
  "Atlantic/Faroe",
  "Europe/Kyiv",
  "Pacific/Kanton",
];

const ABBREVIATIONS: Readonly<Record<string, string>> = {
  EST: "America/New_York",
  EDT: "America/New_York",
  EST5EDT: "America/New_York",
  CST: "America/Chicago",
  CDT: "America/Chicago",
  CST6CDT: "America/Chicago",
  MST: "America/Denver",
  MDT: "America/Denver",
  MST7MDT: "America/Denver",
  PST: "America/Los_Angeles",
  PDT: "America/Los_Angeles",
  PST8PDT: "America/Los_Angeles",
  HST: "Pacific/Honolulu",
  CET: "Europe/Berlin",
  CEST: "Europe/Berlin",
  MET: "Europe/Berlin",
  EET: "Europe/Helsinki",
  EEST: "Europe/Helsinki",
  WET: "Europe/Lisbon",
  BST: "Europe/London",
  GB: "Europe/London",
  MSK: "Europe/Moscow",
  IST: "Asia/Kolkata",
  JST: "Asia/Tokyo",
  KST: "Asia/Seoul",
  AEST: "Australia/Sydney",
  AEDT: "Australia/Sydney",
  NZ: "Pacific/Auckland",
  NZST: "Pacific/Auckland",
  Z: "UTC",
  ZULU: "UTC",
  UCT: "UTC",
};

/** A word of an IANA name: `New`, `DumontDUrville`, `of`, `ACT`. */
const WORD = /^(?:[A-Z][a-z]*(?:[A-Z][a-z]+)*|of|es|au|US|UTC|UCT|GMT|ACT|NSW|LHI|IN|GMT[+-]?\d{1,2})$/;

let engineNames: ReadonlySet<string> | undefined;

/**
 * Accepts the name of a zone as IANA spells it: one the engine lists, `UTC`, or an `Area/Place` alias it knows. Offsets
 * and abbreviations are refused, because they know no daylight saving or mean several zones.
 */
export function checkTimeZone(name: string): TimeZoneCheck {
  if (name === "UTC" || listEngineNames().has(name)) return { ok: true };
  if (/^(?:UTC|GMT)?[+-]\d/i.test(name)) {
    return {
      ok: false,
      message: `${name} is an offset, which knows no daylight saving. Write a zone such as "Europe/Berlin", or "UTC".`,
    };
  }
  const upper = name.toUpperCase();
  const meant = Object.hasOwn(ABBREVIATIONS, upper) ? ABBREVIATIONS[upper] : undefined;
  if (meant !== undefined) {
    return { ok: false, message: `${name} is an abbreviation. Write the name of a place, such as "${meant}".` };
  }
  if (name.includes("/") && name.split(/[/_]|-(?!\d)/).every((word) => WORD.test(word)) && isKnown(name))
    return { ok: true };
  const nearest = findZone(name);
  const hint = nearest ? `Did you mean "${nearest}"?` : 'Write an IANA name such as "Europe/Berlin" or "UTC".';
  return { ok: false, message: `There is no time zone ${JSON.stringify(name.slice(0, 60))}. ${hint}` };
}

/** The names of zones that a schedule may have, sorted, for people who choose one. */
export function listTimeZones(): string[] {
  return [...new Set([...NEWER_NAMES.filter(isKnown), ...listEngineNames()])].toSorted();
}

function listEngineNames(): ReadonlySet<string> {
  engineNames ??= new Set([...Intl.supportedValuesOf("timeZone"), ...NEWER_NAMES.filter(isKnown)]);
  return engineNames;
}

function isKnown(name: string): boolean {
  try {
    new Intl.DateTimeFormat("en-US", { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

/** The zone meant by a name in other case, with spaces, without its area, or with a slip of the pen. */
function findZone(name: string): string | undefined {
  if (name.length > 60) return undefined;
  const wanted = name.trim().replaceAll(/[ -]+/g, "_").toLowerCase();
  if (wanted === "utc" || wanted === "gmt") return "UTC";
  const names = [...NEWER_NAMES.filter((newer) => listEngineNames().has(newer)), ...listEngineNames()];
  const exact = names.find((zone) => {
    const lower = zone.toLowerCase();
    return lower === wanted || lower.endsWith(`/${wanted}`);
  });
  if (exact !== undefined) return exact;
  const whole = findNearest(wanted, names);
  if (whole !== undefined || wanted.includes("/")) return whole;
  const places = new Map(names.map((zone) => [zone.slice(zone.lastIndexOf("/") + 1), zone]));
  const place = findNearest(wanted, places.keys());
  return place === undefined ? undefined : places.get(place);
}
