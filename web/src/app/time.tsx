import { useEffect, useState } from "react";
import { toExact, toRelative, toShort } from "./time-text.ts";

const LOOK_AGAIN_MS = 30_000;

/** A time for people: how long ago, or the date when `as` says so; exactly, in the viewer's zone, on hover. */
export function Time({ at, as = "relative" }: { at: string; as?: "relative" | "short" }) {
  // What began since the last look would be said to begin in a moment.
  useNow(LOOK_AGAIN_MS);
  const now = new Date();
  const time = new Date(at);
  return (
    <time dateTime={at} title={toExact(time)}>
      {as === "short" ? toShort(time) : toRelative(time, now)}
    </time>
  );
}

/** The time, looked at again and again. */
export function useNow(everyMs: number): Date {
  const [now, setNow] = useState(() => new Date());
  useEffect(() => {
    const timer = setInterval(() => setNow(new Date()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return now;
}
