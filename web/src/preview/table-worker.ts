import { readParquet } from "./parquet.ts";
import { type ByteSource, FETCHED_BYTES_MAX } from "./table-bounds.ts";
import { readSheet } from "./workbook.ts";

/*
 * Files of programs are read here: a file made to keep a reader busy keeps this thread busy, which the page ends. It has no
 * network: the policy of its own file allows none. The page fetches what it asks for.
 */

export interface TableTask {
  readonly kind: "parquet" | "workbook";
  readonly bytes: number;
  readonly sheet: number;
}

type Told = TableTask | { readonly number: number; readonly content: ArrayBuffer };

const waiting = new Map<number, (content: ArrayBuffer) => void>();
let asked = 0;
let fetched = 0;

globalThis.onmessage = ({ data }: MessageEvent<Told>): void => {
  if (!("number" in data)) return void answer(data);
  waiting.get(data.number)?.(data.content);
  waiting.delete(data.number);
};

async function answer({ kind, bytes, sheet }: TableTask): Promise<void> {
  const source: ByteSource = { bytes, read };
  const table = kind === "parquet" ? readParquet(source) : readSheet(source, sheet);
  globalThis.postMessage(
    await table.then(
      (read) => ({ table: read }),
      (error: unknown) => ({ failed: String(error) }),
    ),
  );
}

function read(from: number, end: number): Promise<ArrayBuffer> {
  fetched += end - from;
  if (!(from >= 0 && end > from) || fetched > 2 * FETCHED_BYTES_MAX)
    throw new Error("It asks for too much of the file.");
  const number = (asked += 1);
  return new Promise((resolve) => {
    waiting.set(number, resolve);
    globalThis.postMessage({ number, from, end });
  });
}
