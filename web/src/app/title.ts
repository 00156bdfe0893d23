import { useEffect } from "react";
import { say } from "./announcer.tsx";

/** Of the page that comes first, browsers say the title themselves. */
let isFirst = true;

/**
 * Names the page in the browser's tab while it is shown, and announces each new name to screen readers. Undefined while
 * it is not known. `isSaid` is false where the page announces it elsewhere.
 */
export function useTitle(title: string | undefined, isSaid = true): void {
  useEffect(() => {
    const full = `${title} · Treadle`;
    if (title === undefined || document.title === full) return;
    document.title = full;
    if (isSaid && !isFirst) say(title);
    isFirst = false;
  }, [title, isSaid]);
}
