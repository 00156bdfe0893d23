import { createTwoFilesPatch, FILE_HEADERS_ONLY } from "diff";
import type { z } from "zod";
import type { Difference } from "../../domain/api/commits.ts";
import type { Look } from "./look.ts";

type FilePair = z.infer<typeof Difference>["files"][number];

const NOTHING = "/dev/null";
/** Comparing two texts that share nothing takes time by the square of their length. */
const TIMEOUT_MS = 2_000;

/** The lines of a unified difference, as `git diff` and `patch` have them, file by file. */
export function toDifferenceLines(files: readonly FilePair[], look: Look): string[] {
  return files.flatMap((file) => toPatch(file).trimEnd().split("\n")).map((line) => look.changedLine(line));
}

function toPatch({ path, status, before, after, bytesBefore, bytesAfter }: FilePair): string {
  const [from, to] = [status === "added" ? NOTHING : `a/${path}`, status === "removed" ? NOTHING : `b/${path}`];
  const isText = (status === "added" || before !== null) && (status === "removed" || after !== null);
  const patch = isText
    ? createTwoFilesPatch(from, to, before ?? "", after ?? "", undefined, undefined, {
        timeout: TIMEOUT_MS,
        headerOptions: FILE_HEADERS_ONLY,
      })
    : undefined;
  return patch ?? `Files ${from} and ${to} differ (${bytesBefore ?? 0} and ${bytesAfter ?? 0} bytes)`;
}
