import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { RequestHandler } from "express";
import { matchesTag } from "../answers/byte-range.ts";
import { ApiError } from "../errors.ts";

const HERE = dirname(fileURLToPath(import.meta.url));
const require = createRequire(import.meta.url);
const SWAGGER_UI = dirname(require.resolve("swagger-ui-dist/package.json"));
// Without a charset, browsers read the bundle as something else and stop at its first letter beyond ASCII.
const SCRIPT = "text/javascript; charset=utf-8";
const STYLE = "text/css; charset=utf-8";

interface Asset {
  readonly folder: string;
  readonly type: string;
}

/** What the docs pages are made of: all of it comes from here, none from another host. */
export const DOCS_ASSETS: Readonly<Record<string, Asset>> = {
  "docs.js": { folder: HERE, type: SCRIPT },
  "docs.css": { folder: HERE, type: STYLE },
  "swagger-ui-bundle.js": { folder: SWAGGER_UI, type: SCRIPT },
  "swagger-ui.css": { folder: SWAGGER_UI, type: STYLE },
  "favicon-32x32.png": { folder: SWAGGER_UI, type: "image/png" },
};

/** `GET /api/docs/:asset`. Each is read when it is first asked for, and kept: 1.9 MB together. */
export function createAssetRoute(): RequestHandler {
  const kept = new Map<string, Promise<{ content: Buffer; tag: string }>>();
  return async (request, response) => {
    const name = String(request.params["asset"]);
    const asset = Object.hasOwn(DOCS_ASSETS, name) ? DOCS_ASSETS[name] : undefined;
    if (asset === undefined) throw new ApiError("not_found", "The docs pages have no such part.");
    const reading = kept.get(name) ?? readAsset(join(asset.folder, name));
    kept.set(name, reading);
    // One that could not be read is tried again.
    reading.catch(() => kept.delete(name));
    const { content, tag } = await reading;
    response.set({ ETag: tag, "Cache-Control": "no-cache" });
    if (matchesTag(request.get("if-none-match"), tag)) response.status(304).end();
    else response.set("Content-Type", asset.type).send(content);
  };
}

async function readAsset(path: string): Promise<{ content: Buffer; tag: string }> {
  const content = await readFile(path);
  return { content, tag: `"${createHash("sha256").update(content).digest("hex")}"` };
}
