import { createHash } from "node:crypto";

const BLOCK_BYTES = 32;

/** The content of the file number `index` that a call sends: so many bytes, the same whenever they are asked for. */
export function contentOf(token: string, index: number, bytes: number): Buffer {
  const blocks: Buffer[] = [];
  for (let block = 0; block * BLOCK_BYTES < bytes; block += 1)
    blocks.push(createHash("sha256").update(`${token}/${index}/${block}`).digest());
  return Buffer.concat(blocks).subarray(0, bytes);
}
