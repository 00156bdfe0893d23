import { gunzipSync } from "fflate";
import { decompress as unpackZstd } from "fzstd";
import {
  type Compressors,
  type FileMetaData,
  parquetMetadataAsync,
  parquetRead,
  parquetSchema,
  snappyUncompress,
} from "hyparquet";
import {
  type ByteSource,
  COLUMNS_MAX,
  cutCell,
  FETCHED_BYTES_MAX,
  type ReadTable,
  ROWS_MAX,
  UNPACKED_BYTES_MAX,
} from "./table-bounds.ts";

const DAY_MS = 86_400_000;

/**
 * What pandas, Polars, DuckDB and Spark write. Each unpacks into a buffer of the size that the file names, and refuses one that
 * is too large. A file in Brotli or LZ4 is not shown.
 */
const COMPRESSORS: Compressors = {
  SNAPPY(packed, length) {
    const page = makePage(length);
    snappyUncompress(packed, page);
    return page;
  },
  GZIP: (packed, length) => gunzipSync(packed, { out: makePage(length) }),
  ZSTD: (packed, length) => unpackZstd(packed, makePage(length)),
};

/** Reads the first rows of a Parquet file: its footer, and of the first blocks the columns that are shown. */
export async function readParquet(source: ByteSource): Promise<ReadTable> {
  const file = { byteLength: source.bytes, slice: (from: number, end = source.bytes) => source.read(from, end) };
  const metadata = await parquetMetadataAsync(file);
  const names = parquetSchema(metadata).children.map(({ element }) => element.name);
  const columns = chooseColumns(metadata, names);
  const rows = Number(metadata.num_rows);
  const rowEnd = Math.min(rows, ROWS_MAX);
  let found: unknown[][] = [];
  if (rowEnd > 0)
    await parquetRead({
      file,
      metadata,
      columns,
      rowStart: 0,
      rowEnd,
      compressors: COMPRESSORS,
      useOffsetIndex: true,
      parsers: { dateFromDays: (days) => new Date(days * DAY_MS).toISOString().slice(0, 10) },
      onComplete: (read) => (found = read),
    });
  const body = found.map((row) => columns.map((_, at) => cutCell(toText(row[at]))));
  const cut = rows > body.length || names.length > columns.length;
  return { head: columns, body, rows, cut, sheets: [] };
}

/** The first columns, as many as may be fetched of the first block. */
function chooseColumns({ row_groups: blocks }: FileMetaData, names: readonly string[]): string[] {
  let bytes = 0;
  const sizes = new Map<string, number>();
  for (const { meta_data: chunk } of blocks[0]?.columns ?? []) {
    const name = chunk?.path_in_schema[0] ?? "";
    sizes.set(name, (sizes.get(name) ?? 0) + Number(chunk?.total_compressed_size ?? 0));
  }
  const columns = names.slice(0, COLUMNS_MAX).filter((name) => {
    bytes += sizes.get(name) ?? 0;
    return bytes <= FETCHED_BYTES_MAX;
  });
  if (columns.length === 0 && names.length > 0) throw new Error("Its first block is too large.");
  return columns;
}

function makePage(length: number): Uint8Array {
  if (!(length >= 0 && length <= UNPACKED_BYTES_MAX)) throw new Error("A page of it is too large.");
  return new Uint8Array(length);
}

function toText(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "string") return value;
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? "" : value.toISOString();
  if (value instanceof Uint8Array)
    return Array.from(value.slice(0, 64), (byte) => byte.toString(16).padStart(2, "0")).join("");
  return typeof value === "object" ? writeNested(value) : String(value as number | bigint | boolean);
}

/** Whole numbers are longer than JSON's may be. */
function writeNested(value: object): string {
  return JSON.stringify(value, (_, member: unknown) =>
    typeof member === "bigint" || member instanceof Uint8Array ? toText(member) : member,
  );
}
