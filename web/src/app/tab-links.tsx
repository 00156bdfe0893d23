import { type ReactNode, useEffect, useRef } from "react";
import { Purpose } from "./purpose.tsx";
import classes from "./tab-links.module.css";

/** Links that lead from one part of a page to its others; the router marks the one that is shown. `purpose` is what that one is for. */
export function TabLinks({ label, purpose, children }: { label: string; purpose: string; children: ReactNode }) {
  const strip = useRef<HTMLElement>(null);
  // On phones the strip is longer than the window. Each tab has another purpose.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the tab that is shown has changed with its purpose.
  useEffect(() => bringIntoView(strip.current), [purpose]);
  return (
    <>
      <nav ref={strip} className={classes.tabs} aria-label={label}>
        {children}
      </nav>
      <Purpose>{purpose}</Purpose>
    </>
  );
}

/** Scrolls the strip, and not the page, until its current tab is in the middle. */
function bringIntoView(strip: HTMLElement | null): void {
  const tab = strip?.querySelector('[aria-current="page"]');
  if (strip === null || !tab) return;
  const [box, place] = [strip.getBoundingClientRect(), tab.getBoundingClientRect()];
  strip.scrollLeft += place.left + place.width / 2 - (box.left + box.width / 2);
}
