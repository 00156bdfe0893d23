/** Returns the text of a file, which must be UTF-8 and not too large, without a byte order mark at its beginning. */
export function decodeText(
  content: Buffer,
  bytesMax: number,
): { readonly ok: true; readonly text: string } | { readonly ok: false; readonly message: string } {
  if (content.length > bytesMax) {
    return {
      ok: false,
      message: `The file has ${content.length.toLocaleString("en")} bytes; at most ${bytesMax.toLocaleString("en")} are read.`,
    };
  }
  const text = content.toString("utf8").replace(/^\ufeff/, "");
  if (!Buffer.from(text).equals(content.subarray(content.length - Buffer.byteLength(text)))) {
    return { ok: false, message: "The file is not valid UTF-8 text. Save it as UTF-8." };
  }
  return { ok: true, text };
}
