import { type KeyboardEvent, type RefObject, useLayoutEffect, useRef, useState, type WheelEvent } from "react";

/** This near to the end counts as there. */
const NEAR_PX = 8;
/** Browsers report positions in fractions of a pixel. */
const ROUNDED_PX = 1;

/** Keys that take a reader back. */
const KEYS_BACK: ReadonlySet<string> = new Set(["Home", "PageUp", "ArrowUp"]);

/**
 * Whether a list that grows stays at its end: as long as its reader is there. Scrolling up lets go of the end, scrolling
 * back to it takes hold again. Never scrolls smoothly: a log grows faster than that.
 */
export function useFollowing(place: RefObject<HTMLElement | null>, count: number, toEnd: () => void) {
  const [on, setOn] = useState(true);
  /** The same before it is drawn. Lines that arrive now must not scroll a reader back who has just scrolled away. */
  const holds = useRef(true);
  const hold = (end: boolean): void => {
    holds.current = end;
    setOn(end);
  };
  /** Which part is seen, from the beginning of the list. */
  const findSeen = (): { top: number; end: number } => {
    const { scrollTop = 0, clientHeight = 0 } = place.current ?? {};
    return { top: scrollTop, end: scrollTop + clientHeight };
  };
  /** The same when it was looked at last. */
  const seen = useRef({ top: 0, end: 0 });
  /** A list that becomes higher or lower on the page moves one of the two, and its reader has moved neither. */
  const hasGoneUp = (now: { top: number; end: number }): boolean =>
    now.top < seen.current.top - ROUNDED_PX && now.end < seen.current.end - ROUNDED_PX;
  useLayoutEffect(() => {
    if (count === 0) seen.current = { top: 0, end: 0 };
    if (!holds.current || count === 0) return;
    // Browsers tell of scrolling a moment later, and this may be that moment.
    if (hasGoneUp(findSeen())) return hold(false);
    toEnd();
    seen.current = findSeen();
    // Where the end is follows from the count.
    // oxlint-disable-next-line react/exhaustive-deps
  }, [on, count]);
  const letGo = (): void => {
    const { scrollHeight = 0, clientHeight = 0 } = place.current ?? {};
    if (scrollHeight > clientHeight + NEAR_PX) hold(false);
  };
  return {
    on,
    pause() {
      seen.current = findSeen();
      hold(false);
    },
    /** For showing another place: of a list that is seen whole there is nothing to let go of. */
    letGo,
    /** After that, of a list to which nothing is added any more: who is at its end has not left it. */
    settle() {
      seen.current = findSeen();
      hold(seen.current.end >= (place.current?.scrollHeight ?? 0) - NEAR_PX);
    },
    /** Stops following before the browser begins to scroll. A line that came then would take the reader to the end. */
    turnBack(event: KeyboardEvent | WheelEvent) {
      if ("deltaY" in event ? event.deltaY < 0 : KEYS_BACK.has(event.key)) letGo();
    },
    resume() {
      seen.current = findSeen();
      hold(true);
    },
    look() {
      const now = findSeen();
      const isAtEnd = now.end >= (place.current?.scrollHeight ?? 0) - NEAR_PX;
      const [isUp, isDown] = [hasGoneUp(now), now.top > seen.current.top];
      seen.current = now;
      // A reader who has scrolled away follows again by scrolling down, not by a step of ours that was still on its way.
      if (!holds.current) {
        if (isDown) hold(isAtEnd);
      } else if (!isAtEnd && isUp) hold(false);
      else if (!isAtEnd) toEnd();
    },
  };
}
