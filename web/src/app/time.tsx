import { useEffect, useState } from "react";
import { toExact, toRelative, toShort } from "./time-text.ts";

const LOOK_AGAIN_MS = 30_000;

/** A time for people: how long ago, or the date when `as` says so; exactly, in the viewer's zone, on hover. */
export function Time(props: { at: string; as?: "relative" | "short" }) {
  // By a look of its own: what began since the last one would be said to begin in a moment.
  return <LookedAt key={props.at} {...props} />;
}

function LookedAt({ at, as = "relative" }: { at: string; as?: "relative" | "short" }) {
  const now = useNow(LOOK_AGAIN_MS);
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
