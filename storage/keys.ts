const SEGMENT = /^[A-Za-z0-9._-]{1,255}$/;
/** S3 allows keys of 1,024 bytes; the rest is for the prefix in the bucket. */
const KEY_LENGTH_MAX = 900;

/** Returns the key when it is one: relative, of plain segments, none of them `.` or `..`. Throws a RangeError otherwise. */
export function requireKey(key: string): string {
  if (key.length > KEY_LENGTH_MAX || !key.split("/").every(isSegment)) {
    throw new RangeError(
      `${quote(key)} cannot be a storage key: use segments of A-Z a-z 0-9 . _ - joined by single slashes, ${KEY_LENGTH_MAX} characters at most.`,
    );
  }
  return key;
}

/** Returns the prefix when some key can begin with it. Any beginning of a key will do, also "" and one that ends within a segment. */
export function requirePrefix(prefix: string): string {
  const segments = prefix.split("/");
  const last = segments.pop() ?? "";
  if (prefix.length > KEY_LENGTH_MAX || !segments.every(isSegment) || !(last === "" || SEGMENT.test(last))) {
    throw new RangeError(`No storage key begins with ${quote(prefix)}.`);
  }
  return prefix;
}

/** Refuses a range that no object could satisfy, so that both kinds of storage refuse it alike. */
export function requireRange(range: { start: number; end: number }): { start: number; end: number } {
  const { start, end } = range;
  if (!Number.isSafeInteger(start) || !Number.isSafeInteger(end) || start < 0 || end < start) {
    throw new RangeError(`Bytes ${start} to ${end} are not a range: both are whole numbers, 0 ≤ start ≤ end.`);
  }
  return range;
}

function isSegment(text: string): boolean {
  return SEGMENT.test(text) && text !== "." && text !== "..";
}

function quote(text: string): string {
  return JSON.stringify(text.slice(0, 100));
}
