/**
 * Returns what the pages of the editor may load and do. They load our own code, pictures and styles, and styles that
 * our code makes with the page's nonce. Frames hold PDF files that the page itself has fetched, and HTML
 * files that have no origin. Nothing of another host.
 */
export function pagePolicy(nonce: string): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' blob:",
    "media-src 'self' blob:",
    "font-src 'self'",
    "connect-src 'self'",
    "frame-src 'self' blob:",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; ");
}
