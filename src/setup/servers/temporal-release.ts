import { createHash } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { join } from "node:path";
import { Readable, Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip } from "node:zlib";
import { extract } from "tar-stream";
import { formatSize } from "../../../domain/manifest/sizes.ts";
import { releasePlatform } from "./temporal-cache.ts";
import { TEMPORAL_VERSION } from "./temporal-version.ts";

/** SHA-256 of `temporal_cli_1.8.2_<platform>.tar.gz`, as the release's own `checksums.txt` lists them. */
export const RELEASE_SHA256: Readonly<Record<string, string>> = {
  linux_amd64: "d8421bda989e6514b4bdb4d63a9012a8a05a806892e881a5aad8510496349a94",
  linux_arm64: "83600a8fac6e3da54093e5da6918d399f501532b9f1172235603f9606f4ac6e4",
  darwin_amd64: "489d7f5420cae02b559774ac23df035141954c33a51dba96f5759a0ddccdf1b6",
  darwin_arm64: "dacdc3587682c04cf27e67c8878ca2d755230b6ad63c0c6ebddd7348ae90ed94",
};

const RELEASES_URL = "https://github.com/temporalio/cli/releases/download";
/** Without network the ladder must go on within seconds. */
const ANSWER_TIMEOUT_MS = 5_000;
const SILENCE_MAX_MS = 20_000;
const ARCHIVE_BYTES_MAX = 300 * 2 ** 20;
const REPORT_INTERVAL_MS = 5_000;

export type Fetch = (url: string, init: { signal: AbortSignal }) => Promise<Response>;

/**
 * Downloads the pinned release into `folder` and unpacks its program there, after the whole archive has passed its
 * checksum. Answers the program's path. Rejects when there is no network within 5 s, no release for this system, or
 * other content than was pinned. The caller deletes `folder` in any case.
 */
export async function downloadRelease(options: {
  folder: string;
  fetch: Fetch;
  report: (line: string) => void;
  signal?: AbortSignal | undefined;
  checksums?: Readonly<Record<string, string>>;
}): Promise<string> {
  const platform = releasePlatform();
  const expected = platform === undefined ? undefined : (options.checksums ?? RELEASE_SHA256)[platform];
  if (platform === undefined || expected === undefined) {
    throw new Error(`there is no release for ${process.platform} on ${process.arch}`);
  }
  const url = `${RELEASES_URL}/v${TEMPORAL_VERSION}/temporal_cli_${TEMPORAL_VERSION}_${platform}.tar.gz`;
  options.report(`Downloading Temporal ${TEMPORAL_VERSION} (about 50 MB) from ${url}.`);
  const archive = join(options.folder, "temporal.tar.gz");
  const sha256 = await download({ ...options, url, archive });
  if (sha256 !== expected) {
    throw new Error(`the checksum of ${url} is ${sha256}, but ${expected} was expected; the file was deleted`);
  }
  const program = join(options.folder, "temporal");
  await unpack(archive, program);
  return program;
}

async function download(options: {
  url: string;
  archive: string;
  fetch: Fetch;
  report: (line: string) => void;
  signal?: AbortSignal | undefined;
}): Promise<string> {
  const silence = new AbortController();
  const signals = [silence.signal, ...(options.signal === undefined ? [] : [options.signal])];
  const giveUp = (message: string, milliseconds: number) =>
    setTimeout(() => silence.abort(new Error(message)), milliseconds);
  let timer = giveUp(`no answer within ${ANSWER_TIMEOUT_MS / 1000} s`, ANSWER_TIMEOUT_MS);
  try {
    const signal = AbortSignal.any(signals);
    const response = await options.fetch(options.url, { signal });
    if (!response.ok || response.body === null) throw new Error(`the answer was HTTP ${response.status}`);
    const total = Number(response.headers.get("content-length") ?? 0);
    const hash = createHash("sha256");
    let bytes = 0;
    let reportedAt = Date.now();
    const count = new Transform({
      transform(chunk: Buffer, _encoding, done) {
        clearTimeout(timer);
        timer = giveUp(`nothing more came for ${SILENCE_MAX_MS / 1000} s`, SILENCE_MAX_MS);
        bytes += chunk.length;
        hash.update(chunk);
        if (Date.now() - reportedAt >= REPORT_INTERVAL_MS) {
          reportedAt = Date.now();
          options.report(
            `Downloading Temporal: ${formatSize(bytes)} of ${total > 0 ? formatSize(total) : "about 50 MB"}.`,
          );
        }
        done(bytes > ARCHIVE_BYTES_MAX ? new Error("the file is far larger than expected") : null, chunk);
      },
    });
    await pipeline(
      Readable.fromWeb(response.body as import("node:stream/web").ReadableStream),
      count,
      createWriteStream(options.archive),
      { signal },
    );
    return hash.digest("hex");
  } catch (error) {
    options.signal?.throwIfAborted();
    throw new Error(explainFetch(silence.signal.aborted ? silence.signal.reason : error), { cause: error });
  } finally {
    clearTimeout(timer);
  }
}

async function unpack(archive: string, program: string): Promise<void> {
  const entries = extract();
  const reading = pipeline(createReadStream(archive), createGunzip(), entries);
  reading.catch(() => {}); // told by the loop below, which ends with the same error
  let found = false;
  for await (const entry of entries) {
    if (entry.header.name.replace(/^\.\//, "") === "temporal" && entry.header.type === "file") {
      await pipeline(entry, createWriteStream(program, { mode: 0o755 }));
      found = true;
    } else {
      entry.resume();
    }
  }
  await reading;
  if (!found) throw new Error("the archive holds no program called temporal");
}

/** The cause of a failed fetch is what a person can use: "fetch failed" alone says nothing. */
function explainFetch(error: unknown): string {
  const { message, cause } = error as { message: string; cause?: { code?: string; message?: string } };
  const reason = cause?.code ?? cause?.message;
  return reason === undefined ? message : `${message} (${reason})`;
}
