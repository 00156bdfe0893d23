import classes from "./purpose.module.css";

/** One line, under the title of a page, that says what the page is for. */
export function Purpose({ children }: { children: string }) {
  return <p className={classes.purpose}>{children}</p>;
}
