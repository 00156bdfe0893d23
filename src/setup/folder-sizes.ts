import { execFile } from "node:child_process";
import { basename } from "node:path";
import { formatSize } from "../../domain/manifest/sizes.ts";

const TIMEOUT_MS = 20_000;
const NAMED_MAX = 3;

/**
 * Returns the largest folders of `dir` in words, such as `storage 12.1 GB, spool 3.8 GB`, by the blocks they take. A text
 * without figures where they cannot be had. Counts in a process of its own (`du`): nothing else waits.
 */
export async function describeLargest(dir: string): Promise<string> {
  // What du could not read it leaves out, and says so by its exit code; the rest is as good.
  const text = await new Promise<string>((resolve) =>
    execFile("du", ["-k", "-x", "-d", "1", dir], { timeout: TIMEOUT_MS }, (_error, stdout) => resolve(stdout)),
  );
  const folders = text.split("\n").flatMap((line) => {
    const [kilobytes = "", path = ""] = line.split("\t");
    return path === "" || path === dir ? [] : [{ name: basename(path), bytes: Number(kilobytes) * 1024 }];
  });
  folders.sort((a, b) => b.bytes - a.bytes);
  const largest = folders.slice(0, NAMED_MAX).map(({ name, bytes }) => `${name} ${formatSize(bytes)}`);
  return largest.length === 0 ? "unknown" : largest.join(", ");
}
