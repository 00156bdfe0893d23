// Written for busboy 1.6.0: it tells nobody what it passes over.
import type { Busboy } from "busboy";
import { getDecoder, parseDisposition } from "busboy/lib/utils.js";

const EXAMPLE = 'Content-Disposition: form-data; name="…"';

/** The headers of a part by their names in lower case. */
type Headers = Readonly<Record<string, readonly string[] | undefined>>;

/** What the parser reads the headers of a part with. One of it serves all parts. */
interface HeaderReader {
  cb: (headers: Headers) => void;
}

/**
 * Calls `refuse` for each part that the parser passes over without a word: its Content-Disposition is missing, broken, or no
 * `form-data`. A call would start without the value that was sent.
 */
export function watchPartHeaders(parser: Busboy, refuse: (message: string) => void): void {
  let reader: HeaderReader | null = null;
  let isWatched = false;
  // Set anew for each part. The parser tells nobody else of its headers.
  Object.defineProperty(parser, "_hparser", {
    get: () => reader,
    set(next: HeaderReader | null) {
      reader = next;
      if (next === null || isWatched) return;
      isWatched = true;
      const read = next.cb;
      next.cb = (headers) => {
        const problem = findDispositionProblem(headers["content-disposition"]?.[0]);
        if (problem !== undefined) refuse(problem);
        read(headers);
      };
    },
  });
}

/** What the parser finds boundaries with: it is called with the bytes between two, and at each. */
interface BoundarySearch {
  _cb: (isMatch: boolean, data: Buffer | undefined, start: number, end: number, isSafe: boolean) => void;
}

/**
 * Calls `refuse` for a boundary that has anything else behind it than the end of its line or of the form. The parser then passes
 * over the part, and takes the end of the one before for whole.
 */
export function watchBoundaries(parser: Busboy, refuse: () => void): void {
  const search = (parser as unknown as { readonly _bparser: BoundarySearch })._bparser;
  const read = search._cb;
  let behind = "\r\n";
  let isRefused = false;
  search._cb = (isMatch, data, start, end, isSafe) => {
    if (behind.length < 2 && data !== undefined) {
      behind += data.toString("latin1", start, Math.min(end, start + 2 - behind.length));
      isRefused ||= !["\r\n", "--"].some((mark) => mark.startsWith(behind));
      if (isRefused) refuse();
    }
    // What has been refused is not read on: the parser would tell of parts that nobody waits for.
    if (isRefused) return;
    read(isMatch, data, start, end, isSafe);
    if (isMatch) behind = "";
  };
}

function findDispositionProblem(header: string | undefined): string | undefined {
  if (header === undefined) return `A part of the form has no Content-Disposition. Give each part one: ${EXAMPLE}.`;
  const disposition = parseDisposition(header, getDecoder("utf8"));
  if (disposition === undefined)
    return `A part of the form has a Content-Disposition that cannot be read. Write it as ${EXAMPLE}.`;
  if (disposition.type === "form-data") return undefined;
  return `A part of the form is of another disposition than form-data. Write it as ${EXAMPLE}.`;
}
