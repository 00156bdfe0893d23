import { useDeferredValue, useEffect, useMemo, useState } from "react";
import type { Followed } from "./follow.ts";
import { findLines } from "./log-lines.ts";

export type Search = ReturnType<typeof useSearch>;

/** Searches the lines of a log. `show` brings the line at a place into view. */
export function useSearch(lines: Followed["log"]["lines"], count: number, show: (index: number) => void) {
  const [text, setText] = useState("");
  /** Which of those found is shown. The first, as soon as it is found. */
  const [at, setAt] = useState(0);
  const [seenText, seenCount] = [useDeferredValue(text), useDeferredValue(count)];
  const found = useMemo(() => (seenCount === 0 ? [] : findLines(lines, seenText)), [lines, seenText, seenCount]);
  useEffect(() => {
    if (found[0] !== undefined) show(found[0]);
    // What comes later, while the same is searched, moves nothing.
    // oxlint-disable-next-line react/exhaustive-deps
  }, [seenText]);
  const go = (step: number): void => {
    if (found.length === 0) return;
    const next = (at + step + found.length) % found.length;
    setAt(next);
    show(found[next] ?? 0);
  };
  const change = (value: string): void => {
    setText(value);
    setAt(0);
  };
  return { text: seenText, typed: text, change, go, at, count: found.length, current: found[at] };
}
