import { createHash } from "node:crypto";
import { buffer } from "node:stream/consumers";
import { createGzip } from "node:zlib";
import { pack } from "tar-stream";
import { releasePlatform } from "../../../src/setup/servers/temporal-cache.ts";
import type { Fetch } from "../../../src/setup/servers/temporal-release.ts";

export const PLATFORM = releasePlatform() ?? "none";

/** A release archive as the project publishes them, with this text as its program, and the checksums that fit it. */
export async function aRelease(
  program: string | undefined,
): Promise<{ archive: Buffer; checksums: Record<string, string> }> {
  const tar = pack();
  tar.entry({ name: "LICENSE" }, "free");
  if (program !== undefined) tar.entry({ name: "temporal", mode: 0o755 }, program);
  tar.finalize();
  const archive = await buffer(tar.pipe(createGzip()));
  return { archive, checksums: { [PLATFORM]: createHash("sha256").update(archive).digest("hex") } };
}

/** A `fetch` that answers with these bytes and writes down what it was asked for. */
export function aFetch(archive: Buffer, status = 200): { fetch: Fetch; urls: string[] } {
  const urls: string[] = [];
  const fetch: Fetch = async (url) => {
    urls.push(url);
    return new Response(new Uint8Array(archive), { status });
  };
  return { fetch, urls };
}

export const noNetwork: Fetch = async () => {
  throw Object.assign(new TypeError("fetch failed"), { cause: { code: "ENOTFOUND" } });
};
