import type { ReactNode } from "react";
import { Purpose } from "./purpose.tsx";
import classes from "./tab-links.module.css";

/** Links that lead from one part of a page to its others; the router marks the one that is shown. `purpose` is what that one is for. */
export function TabLinks({ label, purpose, children }: { label: string; purpose: string; children: ReactNode }) {
  return (
    <>
      <nav className={classes.tabs} aria-label={label}>
        {children}
      </nav>
      <Purpose>{purpose}</Purpose>
    </>
  );
}
