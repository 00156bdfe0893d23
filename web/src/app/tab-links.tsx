import type { ReactNode } from "react";
import classes from "./tab-links.module.css";

/** Links that lead from one part of a page to its others; the router marks the one that is shown. */
export function TabLinks({ label, children }: { label: string; children: ReactNode }) {
  return (
    <nav className={classes.tabs} aria-label={label}>
      {children}
    </nav>
  );
}
