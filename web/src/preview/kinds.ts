/** How a file can be looked at in the page. Nothing that could run is ever more than its own source. */
export type PreviewKind =
  | "text"
  | "json"
  | "lines"
  | "table"
  | "markdown"
  | "notebook"
  | "archive"
  | "parquet"
  | "workbook"
  | "image"
  | "pdf"
  | "audio"
  | "video"
  | "none";

const BY_TYPE: readonly (readonly [pattern: RegExp, kind: PreviewKind])[] = [
  [/^application\/x-ipynb\+json$/, "notebook"],
  [/^application\/(?:x-)?(?:ndjson|jsonlines|jsonl)$/, "lines"],
  [/^application\/(?:[\w.-]+\+)?json$/, "json"],
  [/^application\/(?:x-)?zip(?:-compressed)?$/, "archive"],
  [/^application\/(?:vnd\.apache\.|x-)?parquet$/, "parquet"],
  [/^application\/vnd\.openxmlformats-officedocument\.spreadsheetml\.sheet$/, "workbook"],
  [/^application\/vnd\.ms-excel\.sheet\.macroenabled\.12$/, "workbook"],
  [/^text\/(?:x-)?markdown$/, "markdown"],
  [/^text\/(?:csv|tab-separated-values)$/, "table"],
  [/^image\/svg\+xml$/, "text"],
  [/^image\/(?:png|jpeg|gif|webp|avif|bmp)$/, "image"],
  [/^application\/pdf$/, "pdf"],
  [/^audio\//, "audio"],
  [/^video\//, "video"],
  [/^text\//, "text"],
  [/^application\/(?:x-)?(?:yaml|xml|toml|javascript|sql|xhtml\+xml)$/, "text"],
];
const BY_NAME: readonly (readonly [pattern: RegExp, kind: PreviewKind])[] = [
  [/\.(?:csv|tsv)$/, "table"],
  [/\.(?:geo)?json$/, "json"],
  [/\.(?:jsonl|ndjson)$/, "lines"],
  [/\.(?:md|markdown)$/, "markdown"],
  [/\.ipynb$/, "notebook"],
  [/\.(?:zip|whl)$/, "archive"],
  [/\.(?:parquet|pq)$/, "parquet"],
  [/\.xls[xm]$/, "workbook"],
  [/\.(?:txt|log|py|ya?ml|toml|ini|xml|html?|svg|sql|js|ts|css)$/, "text"],
];

/** The kind of a file by its media type, or by its name where the type says nothing. */
export function previewKind(contentType: string, fileName: string): PreviewKind {
  const type = (contentType.split(";")[0] ?? "").trim().toLowerCase();
  const byName = BY_NAME.find(([pattern]) => pattern.test(fileName.toLowerCase()))?.[1];
  if (type === "" || type === "application/octet-stream" || type === "text/plain")
    return byName ?? (type === "text/plain" ? "text" : "none");
  return BY_TYPE.find(([pattern]) => pattern.test(type))?.[1] ?? byName ?? "none";
}

/** Whether a text shown as it is would do something as a page: then it is said that this is its source. */
export function isMarkup(contentType: string, fileName: string): boolean {
  return /html|svg|xml/.test(contentType) || /\.(?:html?|svg|xml)$/i.test(fileName);
}

/** A file to look at. */
export interface PreviewedFile {
  readonly fileName: string;
  readonly contentType: string;
  readonly bytes: number;
  /** On this service, from `/` on. */
  readonly path: string;
}
