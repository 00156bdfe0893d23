import { type RefObject, useLayoutEffect, useState } from "react";

/** Below what stands at the end of the window. */
const MARGIN_PX = 16;

/**
 * Returns how high an element may be to end with the window, in pixels, for a page that is not scrolled. Undefined while
 * `isOn` is false and before the first drawing. Measures again when the window changes, and what stands above it.
 */
export function useRoomBelow(place: RefObject<HTMLElement | null>, isOn = true): number | undefined {
  const [room, setRoom] = useState<number>();
  useLayoutEffect(() => {
    if (!isOn) return undefined;
    const look = (): void => {
      const top = place.current?.getBoundingClientRect().top ?? 0;
      setRoom(Math.floor(innerHeight - top - scrollY - MARGIN_PX));
    };
    look();
    const observer = new ResizeObserver(look);
    observer.observe(document.body);
    globalThis.addEventListener("resize", look);
    return () => {
      observer.disconnect();
      globalThis.removeEventListener("resize", look);
    };
  }, [place, isOn]);
  return isOn ? room : undefined;
}
