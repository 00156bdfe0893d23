import { createDiskStorage } from "./disk.ts";
import { createS3Storage, type S3Credentials, type S3Settings } from "./s3.ts";
import type { Storage } from "./storage.ts";

const DEFAULT_REGION = "us-east-1";
const BUCKET = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/;
const OPTIONS = ["endpoint", "region", "path_style"];
const FORM = "s3://BUCKET[/PREFIX][?region=…&endpoint=https://…&path_style=true]";

/** Opens the storage that a URL names, with these credentials for it, or the folder `dir` when there is none. */
export async function openStorage(settings: {
  url: string | undefined;
  credentials?: S3Credentials | undefined;
  dir: string;
}): Promise<Storage> {
  return settings.url === undefined
    ? createDiskStorage({ dir: settings.dir })
    : createS3Storage({ ...parseStorageUrl(settings.url), ...settings.credentials });
}

/**
 * Reads `s3://BUCKET/PREFIX?region=…&endpoint=…&path_style=…`. Throws a RangeError that says what is wrong and repeats
 * nothing of the URL. Credentials never stand in it.
 */
export function parseStorageUrl(text: string): S3Settings {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== "s3:") refuse("is not an s3: URL");
  if (url.username !== "" || url.password !== "") {
    refuse("holds credentials; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY instead, because URLs end up in logs");
  }
  if (!BUCKET.test(url.hostname) || url.port !== "") refuse("names no valid bucket");
  const unknown = [...url.searchParams.keys()].find((name) => !OPTIONS.includes(name));
  if (unknown !== undefined) refuse(`has an unknown option; there are ${OPTIONS.join(", ")}`);

  const endpoint = url.searchParams.get("endpoint") ?? undefined;
  if (endpoint !== undefined && !(URL.canParse(endpoint) && /^https?:$/.test(new URL(endpoint).protocol))) {
    refuse("has an endpoint that is not an http: or https: URL");
  }
  const pathStyle = url.searchParams.get("path_style");
  if (pathStyle !== null && pathStyle !== "true" && pathStyle !== "false")
    refuse("has a path_style that is neither true nor false");
  return {
    bucket: url.hostname,
    prefix: url.pathname.replace(/^\/|\/$/g, ""),
    region: url.searchParams.get("region") ?? DEFAULT_REGION,
    endpoint,
    forcePathStyle: pathStyle === null ? endpoint !== undefined : pathStyle === "true",
  };
}

function refuse(what: string): never {
  throw new RangeError(`The storage URL ${what}. It has the form ${FORM}.`);
}
