import { Button } from "@mantine/core";
import { type ReactNode, useState } from "react";
import type { PreviewedFile } from "./kinds.ts";
import classes from "./preview.module.css";

/** The source of an HTML file, and on a click the page: in a frame without an origin and without scripts. */
export function HtmlPreview({ file, children }: { file: PreviewedFile; children: ReactNode }) {
  const [isPage, setPage] = useState(false);
  return (
    <>
      <Button variant="default" mb="xs" onClick={() => setPage(!isPage)}>
        {isPage ? "Show the source" : "Show the page"}
      </Button>
      {isPage ? (
        <iframe className={classes.html} src={`${file.path}?as=page`} sandbox="" title={file.fileName} />
      ) : (
        children
      )}
    </>
  );
}
