import { createHash } from "node:crypto";

const HOST = /^[\w.:[\]-]+$/;
const INLINE_SCRIPT = /<script>([\s\S]*?)<\/script>/g;

/**
 * Returns what a page of Temporal's may load and do: its own files, its own interface, and the scripts that the server
 * wrote into it. Addresses of our API are outside of `base`. A script that another user's data brought into the page
 * cannot act for its reader.
 */
export function temporalPolicy(page: string, hosts: readonly string[], path: string): string {
  const bases = [...new Set(hosts)].filter((host) => HOST.test(host)).map((host) => `https://${host}${path}/`);
  const below = (folder: string): string => bases.map((base) => `${base}${folder}`).join(" ");
  const own = below("");
  const hashes = Array.from(page.matchAll(INLINE_SCRIPT), ([, script = ""]) => `'sha256-${hash(script)}'`);
  return [
    "default-src 'none'",
    `script-src ${below("_app/")} ${hashes.join(" ")}`,
    `style-src ${own} 'unsafe-inline'`,
    `img-src ${own} data:`,
    `font-src ${own} data:`,
    `connect-src ${own}`,
    `manifest-src ${own}`,
    `frame-src ${below("render")}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; ");
}

function hash(script: string): string {
  return createHash("sha256").update(script).digest("base64");
}
