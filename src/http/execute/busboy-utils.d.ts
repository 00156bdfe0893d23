/** The parser's own reader of a Content-Disposition, which its types leave out. */
declare module "busboy/lib/utils.js" {
  export function getDecoder(charset: string): unknown;
  /** Undefined: the header is malformed. */
  export function parseDisposition(
    header: string,
    decoder: unknown,
  ): { readonly type: string; readonly params: Readonly<Record<string, string>> } | undefined;
}
