import { messageOf } from "../../../domain/message-of.ts";

const DISK_FULL =
  /no space left on device|disk quota exceeded|could not write.*enospc|ENOSPC|EDQUOT|database or disk is full/i;

/** The disk is full. */
export class DiskFullError extends Error {}

/**
 * Returns the error to show when a server's last lines, or an error of ours, say that the disk is full. Undefined when
 * they do not.
 */
export function toDiskFullError(said: unknown, folder: string): DiskFullError | undefined {
  const lines = Array.isArray(said) ? said.map(String) : [messageOf(said)];
  const line = lines.find((one) => DISK_FULL.test(one));
  if (line === undefined) return undefined;
  return new DiskFullError(
    `The disk that holds ${folder} is full (${line.trim()}). Free space on it, or put the data dir elsewhere (TREADLE_DATA_DIR), and start again. Nothing half-made was left behind.`,
  );
}
