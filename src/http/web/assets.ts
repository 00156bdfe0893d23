import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { extname, join } from "node:path";
import type { RequestHandler } from "express";
import { matchesTag } from "../answers/byte-range.ts";
import { ApiError } from "../errors.ts";

const TYPES: Readonly<Record<string, string>> = {
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".woff2": "font/woff2",
};
/** As the build writes them: the name, a dash, a hash of the content. No folders, so nothing leads out of this one. */
const NAME = /^[\w-]+(?:\.[\w-]+)*\.(?:js|css|svg|png|woff2)$/;
/** What the build has compressed beforehand, the smallest first. */
const ENCODINGS = [
  { name: "br", suffix: ".br" },
  { name: "gzip", suffix: ".gz" },
] as const;
/** The name changes with the content. */
const CACHING = "public, max-age=31536000, immutable";

interface Variant {
  readonly encoding: string | undefined;
  readonly content: Buffer;
  readonly tag: string;
}

/**
 * `GET /assets/…`: a part of the editor, for ever the same under its name, compressed when the browser takes that. Each is
 * read when it is first asked for and kept: a few megabytes together.
 */
export function createAssetsRoute(folder: string): RequestHandler {
  const kept = new Map<string, Variant>();
  const open = async (name: string, { name: encoding, suffix }: { name: string | undefined; suffix: string }) => {
    const path = join(folder, "assets", `${name}${suffix}`);
    const found = kept.get(path) ?? (await readVariant(path, encoding));
    if (found !== undefined) kept.set(path, found);
    return found;
  };
  return async (request, response, next) => {
    if (!["GET", "HEAD"].includes(request.method)) return next();
    const name = request.path.slice(1);
    const accepted = ENCODINGS.find((encoding) => request.acceptsEncodings(encoding.name) !== false);
    const variant = !NAME.test(name)
      ? undefined
      : ((accepted && (await open(name, accepted))) ?? (await open(name, { name: undefined, suffix: "" })));
    if (variant === undefined)
      throw new ApiError(
        "not_found",
        "The editor has no such part. Load the page again: it may be of an older version.",
      );
    response.set({ ETag: variant.tag, "Cache-Control": CACHING, Vary: "Accept-Encoding" });
    if (matchesTag(request.get("if-none-match"), variant.tag)) return void response.status(304).end();
    if (variant.encoding !== undefined) response.set("Content-Encoding", variant.encoding);
    response.set("Content-Type", TYPES[extname(name)] ?? "application/octet-stream").send(variant.content);
  };
}

async function readVariant(path: string, encoding: string | undefined): Promise<Variant | undefined> {
  const content = await readFile(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT" && error.code !== "ENOTDIR") throw error;
    return undefined;
  });
  if (content === undefined) return undefined;
  return { encoding, content, tag: `"${createHash("sha256").update(content).digest("hex")}"` };
}
