import { readFileSync } from "node:fs";
import { join } from "node:path";
import { list } from "./processes.ts";
import type { LeftEndLine } from "./record.ts";

/** The ends of programs that a dead service had seen and kept, recorded or not. Nothing runs in its data folder meanwhile. */
export function findLeftEnds(dataDir: string): LeftEndLine[] {
  const spool = join(dataDir, "spool");
  return list(spool).flatMap((executionId): LeftEndLine[] => {
    const { attempt, outcome } = readResult(join(spool, executionId, "result.json"));
    if (attempt === undefined || outcome === undefined) return [];
    return [{ type: "left_end", at: Date.now(), executionId, attempt, status: outcome.status }];
  });
}

function readResult(path: string): { attempt?: number; outcome?: { status: string } } {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch {
    return {}; // Its program had not ended.
  }
}
