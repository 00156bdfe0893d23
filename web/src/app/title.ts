import { useEffect } from "react";

/** Names the page in the browser's tab while it is shown. */
export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · Treadle`;
  }, [title]);
}
