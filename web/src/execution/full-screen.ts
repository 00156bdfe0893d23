import { type RefObject, useEffect, useState } from "react";

export interface FullScreen {
  readonly isOn: boolean;
  /** Whether the browser can do it for parts of a page. */
  readonly isPossible: boolean;
  toggle(): void;
}

/** Lets a part of the page fill the screen. The browser's own keys, Escape among them, end it. */
export function useFullScreen(place: RefObject<HTMLElement | null>): FullScreen {
  const [isOn, setOn] = useState(false);
  useEffect(() => {
    const look = (): void => setOn(document.fullscreenElement !== null && document.fullscreenElement === place.current);
    document.addEventListener("fullscreenchange", look);
    return () => document.removeEventListener("fullscreenchange", look);
  }, [place]);
  const toggle = (): void => {
    const done = isOn ? document.exitFullscreen() : place.current?.requestFullscreen();
    // The browser, or its reader, does not want it: the log stays as it is.
    done?.catch(() => undefined);
  };
  return { isOn, isPossible: document.fullscreenEnabled, toggle };
}
