import { Fragment, memo, type ReactNode, type Ref } from "react";
import { type Piece, toPieces } from "./ansi.ts";
import type { LogLine } from "./log-lines.ts";
import classes from "./log-view.module.css";
import { type Source, SourceLink } from "./source-link.tsx";
import { splitPlaces } from "./source-places.ts";

const clock = new Intl.DateTimeFormat("en-GB", {
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  fractionalSecondDigits: 3,
});

/** A line at its place in the list. */
export const LogRow = memo(function LogRow(props: {
  /** Reports its height to the list, where that is not known. */
  readonly measure: Ref<HTMLDivElement> | undefined;
  readonly index: number;
  /** Which line of the log it is, from 1 on. */
  readonly number: number;
  readonly top: number;
  readonly line: LogLine;
  readonly showsTime: boolean;
  /** What is searched: marked wherever it stands. */
  readonly found: string;
  readonly isCurrent: boolean;
  /** Whose files the frames of tracebacks lead to; undefined where there are none. */
  readonly source: Source | undefined;
}) {
  const { measure, index, number, top, line, showsTime, found, isCurrent, source } = props;
  return (
    <div
      ref={measure}
      className={classes.row}
      style={{ transform: `translateY(${top}px)` }}
      data-index={index}
      data-stream={line.stream}
      data-current={isCurrent || undefined}
    >
      <a href={`#L${number}`} className={classes.lineNumber} aria-hidden="true" tabIndex={-1}>
        {number}
      </a>
      {showsTime && (
        <time className={classes.clock} dateTime={line.time} title={line.time}>
          {clock.format(new Date(line.time))}
        </time>
      )}
      <span className={classes.text}>
        {toPieces(line.text).map((piece, at) => (
          <PieceText key={at} piece={piece} found={found} source={source} />
        ))}
      </span>
    </div>
  );
});

function PieceText({ piece, found, source }: { piece: Piece; found: string; source: Source | undefined }) {
  const { text, colour, background, bold, dim, italic, underline } = piece;
  const content = linkPlaces(text, found, source);
  if (colour === undefined && background === undefined && !(bold || dim || italic || underline)) return content;
  return (
    <span
      style={{
        color: colour,
        background,
        fontWeight: bold ? 650 : undefined,
        opacity: dim ? 0.7 : undefined,
        fontStyle: italic ? "italic" : undefined,
        textDecoration: underline ? "underline" : undefined,
      }}
    >
      {content}
    </span>
  );
}

function linkPlaces(text: string, found: string, source: Source | undefined): ReactNode {
  if (source === undefined) return markFound(text, found);
  return splitPlaces(text).map((piece, at) => {
    const marked = markFound(piece.text, found);
    if (piece.place === undefined) return <Fragment key={at}>{marked}</Fragment>;
    return (
      <SourceLink key={at} source={source} place={piece.place}>
        {marked}
      </SourceLink>
    );
  });
}

function markFound(text: string, found: string): ReactNode {
  const wanted = found.toLowerCase();
  if (wanted === "") return text;
  const parts: ReactNode[] = [];
  const low = text.toLowerCase();
  let from = 0;
  for (let at = low.indexOf(wanted); at !== -1; at = low.indexOf(wanted, from)) {
    parts.push(<Fragment key={`before ${from}`}>{text.slice(from, at)}</Fragment>);
    from = at + wanted.length;
    parts.push(<mark key={at}>{text.slice(at, from)}</mark>);
  }
  return [...parts, text.slice(from)];
}
