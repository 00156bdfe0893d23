import { lazy, Suspense, useState } from "react";
import { ChevronDownIcon, ChevronRightIcon } from "../app/icons.tsx";
import { loadPart } from "../app/load-part.ts";
import type { FileDifference } from "./commits.ts";
import classes from "./file-diffs.module.css";
import fold from "./fold.module.css";

const TextDiff = lazy(() =>
  loadPart(() => import("../code/text-diff.tsx")).then((loaded) => ({ default: loaded.TextDiff })),
);

/** So many are open at first; all of a large commit would take the page long. */
const OPEN_AT_FIRST = 12;
const SIGNS = { added: "added", changed: "changed", removed: "removed" } as const;

/** What became of each file. */
export function FileDiffs({ files }: { files: readonly FileDifference[] }) {
  if (files.length === 0) return <p className={classes.none}>The files are the same.</p>;
  return (
    <div className={classes.files}>
      {files.map((file, index) => (
        <FileDiff key={file.path} file={file} openAtFirst={index < OPEN_AT_FIRST} />
      ))}
    </div>
  );
}

function FileDiff({ file, openAtFirst }: { file: FileDifference; openAtFirst: boolean }) {
  const [open, setOpen] = useState(openAtFirst);
  const { path, status, before, after, binary } = file;
  // Of what is too long to be shown there is no text either.
  const isShown = !binary && (before !== null || status === "added") && (after !== null || status === "removed");
  return (
    <section className={fold.frame} aria-label={`${path}, ${SIGNS[status]}`}>
      <button type="button" className={fold.head} aria-expanded={open} onClick={() => setOpen(!open)}>
        {open ? <ChevronDownIcon size={14} /> : <ChevronRightIcon size={14} />}
        <span className={classes.path}>{path}</span>
        <span className={classes.sign} data-status={status}>
          {SIGNS[status]}
        </span>
      </button>
      {open && isShown && (
        <Suspense fallback={<p className={classes.none}>…</p>}>
          <TextDiff path={path} before={before} after={after} />
        </Suspense>
      )}
      {open && !isShown && <p className={classes.none}>It is not a text, or too long to compare here.</p>}
    </section>
  );
}
