/** What RFC 8187 lets stand unencoded. */
const UNENCODED = /[A-Za-z0-9!#$&+.^_`|~-]/;
/** In the plain form: no quotes or backslashes, which clients read in different ways, and no `%`, which some decode. */
const NOT_PLAIN = /[^\x20-\x7e]|["\\%/]/gu;

/**
 * A Content-Disposition header (RFC 6266) for any name a filesystem allows. `filename` is a plain ASCII likeness for old
 * clients; `filename*` is the name itself, byte by byte, given whenever the two differ.
 */
export function contentDisposition(kind: "inline" | "attachment", fileName: string): string {
  const plain = fileName.replace(NOT_PLAIN, "_");
  const header = `${kind}; filename="${plain}"`;
  return plain === fileName ? header : `${header}; filename*=UTF-8''${encode(fileName)}`;
}

function encode(text: string): string {
  let encoded = "";
  for (const byte of Buffer.from(text)) {
    const character = String.fromCharCode(byte);
    encoded += UNENCODED.test(character) ? character : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  }
  return encoded;
}
