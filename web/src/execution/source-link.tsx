import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { type SourcePlace, splitPlaces } from "./source-places.ts";

/** Which files an execution has run. */
export interface Source {
  readonly workflowId: string;
  readonly commitId: string;
  /** Shows a place on this very page. False: it cannot, and the link leads to the commit. */
  readonly show?: (place: SourcePlace) => boolean;
}

/** A place in a file of a commit, which opens there. */
export function SourceLink({ source, place, children }: { source: Source; place: SourcePlace; children: ReactNode }) {
  const { workflowId, commitId, show } = source;
  return (
    <Link
      to="/workflows/$workflowId/code"
      params={{ workflowId }}
      search={{ commit: commitId, file: place.file, line: String(place.line) }}
      preload={false}
      onClick={(event) => {
        const isPlain = !(event.ctrlKey || event.metaKey || event.shiftKey);
        if (isPlain && show?.(place) === true) event.preventDefault();
      }}
    >
      {children}
    </Link>
  );
}

/** A text in which the places in files of the commit are links. */
export function TextWithPlaces({ source, text }: { source: Source; text: string }) {
  return splitPlaces(text).map((piece, at) =>
    piece.place === undefined ? (
      piece.text
    ) : (
      <SourceLink key={at} source={source} place={piece.place}>
        {piece.text}
      </SourceLink>
    ),
  );
}
