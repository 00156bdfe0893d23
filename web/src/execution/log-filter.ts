import { useMemo, useState } from "react";
import type { LogLine } from "./log-lines.ts";

/** Which lines are shown: all, or those of one stream of the program. */
export type Stream = "all" | "stdout" | "stderr";

/** The lines of a log that are shown. `places` has where each of them is among all lines; undefined when all are shown. */
export function useShownLines(lines: readonly LogLine[], count: number) {
  const [stream, choose] = useState<Stream>("all");
  const places = useMemo(
    () => (stream === "all" || count === 0 ? undefined : findPlaces(lines, stream)),
    [lines, count, stream],
  );
  const shown = useMemo(
    () => (places === undefined ? lines : places.flatMap((place) => lines[place] ?? [])),
    [lines, places],
  );
  return { stream, choose, lines: shown, count: places?.length ?? count, places };
}

function findPlaces(lines: readonly LogLine[], stream: Stream): number[] {
  const places: number[] = [];
  for (const [place, line] of lines.entries()) if (line.stream === stream) places.push(place);
  return places;
}
