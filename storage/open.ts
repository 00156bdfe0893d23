import { createDiskStorage } from "./disk.ts";
import { createS3Storage, type S3Credentials, type S3Settings } from "./s3.ts";
import type { ObjectStore } from "./storage.ts";

const DEFAULT_REGION = "us-east-1";
const BUCKET = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/;
const OPTIONS = ["endpoint", "region", "path_style", "upload_endpoint", "encryption", "kms_key"];
const FORM =
  "s3://BUCKET[/PREFIX][?region=…&endpoint=https://…&path_style=true&upload_endpoint=https://…&encryption=AES256]";
const ENCRYPTIONS = ["AES256", "aws:kms"] as const;
/** Callers never send files in the open, except to this machine itself. */
const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

/** Opens the storage that a URL names, with these credentials for it, or the folder `dir` when there is none. */
export async function openStorage(settings: {
  url: string | undefined;
  credentials?: S3Credentials | undefined;
  dir: string;
}): Promise<ObjectStore> {
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
    ...parseUploads(url.searchParams),
    ...parseEncryption(url.searchParams),
    bucket: url.hostname,
    prefix: url.pathname.replace(/^\/|\/$/g, ""),
    region: url.searchParams.get("region") ?? DEFAULT_REGION,
    endpoint,
    forcePathStyle: pathStyle === null ? endpoint !== undefined : pathStyle === "true",
  };
}

function parseUploads(options: URLSearchParams): Pick<S3Settings, "uploadEndpoint"> {
  const uploadEndpoint = options.get("upload_endpoint") ?? undefined;
  if (uploadEndpoint === undefined) return {};
  const url = URL.canParse(uploadEndpoint) ? new URL(uploadEndpoint) : undefined;
  const isSafe = url?.protocol === "https:" || (url?.protocol === "http:" && LOOPBACK.test(url.hostname));
  if (!isSafe) refuse("has an upload_endpoint that is not an https: URL");
  return { uploadEndpoint };
}

function parseEncryption(options: URLSearchParams): Pick<S3Settings, "encryption" | "kmsKey"> {
  const [given, kmsKey] = [options.get("encryption"), options.get("kms_key") ?? undefined];
  const encryption = ENCRYPTIONS.find((one) => one === given);
  if (given !== null && encryption === undefined)
    refuse(`has an encryption that is none of ${ENCRYPTIONS.join(" and ")}`);
  if (kmsKey !== undefined && encryption !== "aws:kms") refuse("has a kms_key without encryption=aws:kms");
  return { encryption, kmsKey };
}

function refuse(what: string): never {
  throw new RangeError(`The storage URL ${what}. It has the form ${FORM}.`);
}
