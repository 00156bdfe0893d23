/** Both ends included, as HTTP counts. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/**
 * The part of `bytes` bytes that a Range header asks for. `whole`: no header, several ranges, another unit, or not a range
 * at all; RFC 9110 lets a server ignore those. `unsatisfiable`: it begins behind the end.
 */
export function parseRange(header: string | undefined, bytes: number): ByteRange | "whole" | "unsatisfiable" {
  const match = /^bytes=[ \t]*(\d{0,15})-(\d{0,15})[ \t]*$/i.exec(header ?? "");
  if (match === null) return "whole";
  const [, first = "", last = ""] = match;
  if (first === "" && last === "") return "whole";
  if (first === "") {
    const length = Math.min(Number(last), bytes);
    return length === 0 ? "unsatisfiable" : { start: bytes - length, end: bytes - 1 };
  }
  const start = Number(first);
  if (last !== "" && Number(last) < start) return "whole";
  if (start >= bytes) return "unsatisfiable";
  return { start, end: last === "" ? bytes - 1 : Math.min(Number(last), bytes - 1) };
}

/** Whether an If-None-Match header names this tag; weak comparison, as RFC 9110 wants for it. */
export function matchesTag(header: string | undefined, tag: string): boolean {
  if (header === undefined) return false;
  if (header.trim() === "*") return true;
  return (header.match(/(?:W\/)?"[^"]*"/g) ?? []).some((each) => each.replace(/^W\//, "") === tag);
}
