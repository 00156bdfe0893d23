import { openApi } from "../app/api.ts";
import type { PreviewedFile } from "./kinds.ts";
import type { ReadTable } from "./table-bounds.ts";
import type { TableTask } from "./table-worker.ts";

/** A file that takes longer is made to, or too large to be looked at. */
const READ_MS_MAX = 30_000;

type Told = { number: number; from: number; end: number } | { table: ReadTable } | { failed: string };

/** Reads the first rows of a file in a thread of its own, which asks for the parts that it wants. Ends that thread with the signal. */
export async function readTable(
  { path, bytes }: PreviewedFile,
  task: Omit<TableTask, "bytes">,
  signal: AbortSignal,
): Promise<ReadTable> {
  const worker = new Worker(new URL("./table-worker.ts", import.meta.url), { type: "module" });
  const ends = AbortSignal.any([signal, AbortSignal.timeout(READ_MS_MAX)]);
  try {
    return await new Promise<ReadTable>((resolve, reject) => {
      ends.addEventListener("abort", () => reject(ends.reason as Error));
      worker.addEventListener("error", ({ message }) => reject(new Error(message)));
      worker.addEventListener("message", ({ data }: MessageEvent<Told>) => {
        if ("table" in data) return resolve(data.table);
        if ("failed" in data) return reject(new Error(data.failed));
        openApi(path, { headers: { range: `bytes=${data.from}-${data.end - 1}` }, signal: ends })
          .then((response) => response.arrayBuffer())
          .then((content) => worker.postMessage({ number: data.number, content }, [content]))
          .catch(reject);
      });
      worker.postMessage({ ...task, bytes });
    });
  } finally {
    worker.terminate();
  }
}
