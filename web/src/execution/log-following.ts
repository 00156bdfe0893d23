import { type RefObject, useLayoutEffect, useRef, useState } from "react";

/** This near to the end counts as there. */
const NEAR_PX = 8;

/**
 * Whether a list that grows stays at its end: as long as its reader is there. Scrolling up lets go of the end, scrolling
 * back to it takes hold again. Never scrolls smoothly: a log grows faster than that.
 */
export function useFollowing(place: RefObject<HTMLElement | null>, count: number, toEnd: () => void) {
  const [on, setOn] = useState(true);
  /** Where it was when it was looked at last. */
  const seenTop = useRef(0);
  useLayoutEffect(() => {
    if (on && count > 0) toEnd();
    // Where the end is follows from the count.
    // oxlint-disable-next-line react/exhaustive-deps
  }, [on, count]);
  return {
    on,
    pause() {
      seenTop.current = place.current?.scrollTop ?? 0;
      setOn(false);
    },
    /** For showing another place: of a list that is seen whole there is nothing to let go of. */
    letGo() {
      const { scrollHeight = 0, clientHeight = 0 } = place.current ?? {};
      if (scrollHeight > clientHeight + NEAR_PX) setOn(false);
    },
    resume: () => setOn(true),
    look() {
      const { scrollTop = 0, scrollHeight = 0, clientHeight = 0 } = place.current ?? {};
      const hasGoneDown = scrollTop > seenTop.current;
      seenTop.current = scrollTop;
      // Whoever has let go takes hold again by scrolling down, not by a step of our own that was still on its way.
      if (on || hasGoneDown) setOn(scrollTop + clientHeight >= scrollHeight - NEAR_PX);
    },
  };
}
