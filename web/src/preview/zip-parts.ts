import type { FileEntry } from "@zip.js/zip.js/lib/zip-core-reader.js";
import type { ByteSource } from "./table-bounds.ts";

const STORED = 0;
const DEFLATED = 8;
/** What stands before a part: so many bytes, then its name and other fields, whose lengths are in them. */
const HEAD_BYTES = 30;
const NAME_LENGTH_AT = 26;
const FIELDS_LENGTH_AT = 28;
/** Fetched at a time: what is not wanted any more is not fetched. */
const STEP_BYTES = 1_000_000;

/** Reads parts of a zip as texts, each only up to a length: what unpacks to more than it says is cut off there. */
export function readZipParts(source: ByteSource, parts: ReadonlyMap<string, FileEntry>) {
  return {
    /** Resolves with the beginning of a part; with `otherwise` where there is none. */
    async text(path: string, charactersMax: number, otherwise?: string): Promise<string> {
      const entry = parts.get(path);
      if (entry === undefined && otherwise !== undefined) return otherwise;
      if (entry === undefined) throw new Error(`It has no ${path}.`);
      if (entry.encrypted) throw new Error(`${path} is encrypted.`);
      return takeText(unpack(await openPart(source, entry), entry.compressionMethod), charactersMax);
    },
  };
}

async function openPart(source: ByteSource, { offset, compressedSize }: FileEntry) {
  const head = new DataView(await source.read(offset, offset + HEAD_BYTES));
  const start = offset + HEAD_BYTES + head.getUint16(NAME_LENGTH_AT, true) + head.getUint16(FIELDS_LENGTH_AT, true);
  const end = Math.min(start + compressedSize, source.bytes);
  let at = start;
  return new ReadableStream<Uint8Array<ArrayBuffer>>({
    async pull(controller) {
      if (at >= end) return controller.close();
      const next = Math.min(at + STEP_BYTES, end);
      controller.enqueue(new Uint8Array(await source.read(at, next)));
      at = next;
    },
  });
}

function unpack(
  packed: ReadableStream<Uint8Array<ArrayBuffer>>,
  method: number,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  if (method === STORED) return packed;
  if (method !== DEFLATED) throw new Error("It is packed in a way that is not known.");
  return packed.pipeThrough(new DecompressionStream("deflate-raw"));
}

async function takeText(bytes: ReadableStream<Uint8Array<ArrayBuffer>>, charactersMax: number): Promise<string> {
  const reader = bytes.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text;
    text += value;
    if (text.length < charactersMax) continue;
    await reader.cancel();
    return text.slice(0, charactersMax);
  }
}
