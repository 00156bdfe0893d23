import { Button, Text } from "@mantine/core";
import { useLocation } from "@tanstack/react-router";
import { useVirtualizer, type Virtualizer } from "@tanstack/react-virtual";
import { type CSSProperties, type RefObject, useEffect, useRef, useState, useSyncExternalStore } from "react";
import { ArrowDownIcon } from "../app/icons.tsx";
import { useRoomBelow } from "../app/room-below.ts";
import type { Followed } from "./follow.ts";
import { useFullScreen } from "./full-screen.ts";
import { type Stream, useShownLines } from "./log-filter.ts";
import { useFollowing } from "./log-following.ts";
import type { LogLine } from "./log-lines.ts";
import { readLogLine } from "./log-place.ts";
import { LogRow } from "./log-row.tsx";
import { type Search, useSearch } from "./log-search.ts";
import { LogTools } from "./log-tools.tsx";
import classes from "./log-view.module.css";
import type { Source } from "./source-link.tsx";

const ROW_PX = 20;
const ROWS_AHEAD = 24;
const HEIGHT_PX_MIN = 120;
/** With less room than this below it, the log of a run that failed is as high as any other. */
const ERROR_ROOM_PX_MIN = 160;
/** Numbers of lines have room for so many digits, or for as many as the last one has: none breaks into two lines. */
const DIGITS_MIN = 4;

interface LogViewProps {
  /** Whose log it is, for screen readers. */
  readonly label: string;
  /** Whether more may come. */
  readonly goesOn: boolean;
  readonly followed: Pick<Followed, "log" | "state" | "error">;
  /** Whether its lines have the time at which they were written. */
  readonly hasTimes: boolean;
  /** Where all of it can be had as a file, and how that is called. */
  readonly download?: { readonly path: string; readonly fileName: string };
  /** Whether it ends with the window while it grows, so that its newest lines are seen. */
  readonly fills?: boolean;
  /** Whose files the frames of tracebacks lead to. */
  readonly source?: Source;
  /** Chooses the line to begin with, once all have come. */
  readonly findStart?: ((lines: readonly LogLine[]) => number | undefined) | undefined;
}

/** The log of an execution or a build: coloured as in a terminal, searched, followed while it grows. Only what is seen is drawn. */
export function LogView(props: LogViewProps) {
  const { label, goesOn, followed, hasTimes, download, fills = false, source, findStart } = props;
  const { log, state, error } = followed;
  const all = useSyncExternalStore(log.subscribe, log.count);
  const shown = useShownLines(log.lines, all);
  const { lines, count, places } = shown;
  const place = useRef<HTMLDivElement>(null);
  const frame = useRef<HTMLElement>(null);
  const full = useFullScreen(frame);
  const [wraps, setWraps] = useState(false);
  const [showsTimes, setShowsTimes] = useState(false);
  // Its newest lines, or its last error, are in the window that has just been opened.
  const below = useRoomBelow(place, fills && (goesOn || findStart !== undefined));
  const room = goesOn || (below ?? 0) >= ERROR_ROOM_PX_MIN ? below : undefined;
  const { rows, following, search, named } = useLines({
    place,
    shown,
    wraps,
    goesOn,
    isWhole: state === "ended",
    findStart,
  });
  return (
    <section ref={frame} className={classes.log} aria-label={label}>
      <LogTools
        search={search}
        state={state}
        count={count}
        shown={hasTimes ? shown : undefined}
        full={full}
        following={goesOn && state !== "ended" ? following : undefined}
        wraps={wraps}
        onWrap={() => setWraps(!wraps)}
        times={hasTimes ? { shown: showsTimes, onToggle: () => setShowsTimes(!showsTimes) } : undefined}
        download={download}
      />
      {/* A region that scrolls must be reached by keys, and what keys and wheel do to it is looked at, not done here. */}
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions */}
      <div
        ref={place}
        className={classes.scroll}
        style={toStyle({ count, linesPx: rows.getTotalSize(), room })}
        data-wraps={wraps}
        data-fills={fills}
        onScroll={following.look}
        onKeyDown={following.turnBack}
        onWheel={following.turnBack}
        tabIndex={0}
        role="region"
        aria-label="Lines of the log"
      >
        {count === 0 && <Nothing state={state} error={error} stream={shown.stream} />}
        <Rows
          rows={rows}
          lines={lines}
          places={places}
          wraps={wraps}
          showsTimes={showsTimes}
          search={search}
          named={named}
          source={source}
        />
      </div>
      {!following.on && (
        <Button className={classes.latest} variant="default" leftSection={<ArrowDownIcon />} onClick={following.resume}>
          Latest
        </Button>
      )}
    </section>
  );
}

/** Where the lines of a log are, which of them are seen, and the ways to one of them. */
function useLines(of: {
  readonly place: RefObject<HTMLDivElement | null>;
  readonly shown: ReturnType<typeof useShownLines>;
  readonly wraps: boolean;
  readonly goesOn: boolean;
  /** Whether all lines have come. */
  readonly isWhole: boolean;
  readonly findStart: LogViewProps["findStart"];
}) {
  const { place, shown, wraps, goesOn, isWhole, findStart } = of;
  const { lines, count, places } = shown;
  const rows = useVirtualizer({
    count,
    getScrollElement: () => place.current,
    estimateSize: () => ROW_PX,
    overscan: ROWS_AHEAD,
  });
  useEffect(() => rows.measure(), [rows, wraps, places]);
  const following = useFollowing(place, count, () => rows.scrollToIndex(count - 1, { align: "end" }));
  const show = (index: number): void => {
    following.letGo();
    rows.scrollToIndex(index, { align: "center" });
    if (isWhole) following.settle();
  };
  const search = useSearch(lines, count, show);
  const begin = (index: number): void => {
    // The next line must not take the reader to the end, also where all of them can still be seen.
    if (!isWhole) following.pause();
    show(index);
  };
  const named = useStart({ lines, places, goesOn, isWhole, findStart, show: begin });
  return { rows, following, search, named };
}

/** As high as its lines where there is room, with place for the last line's number. */
function toStyle({
  count,
  linesPx,
  room,
}: {
  count: number;
  linesPx: number;
  room: number | undefined;
}): CSSProperties {
  const sizes = {
    height: Math.max(HEIGHT_PX_MIN, linesPx + ROW_PX),
    maxHeight: room === undefined ? undefined : Math.max(HEIGHT_PX_MIN, room),
    "--digits": Math.max(DIGITS_MIN, String(count).length),
  };
  return sizes;
}

function Rows(props: {
  readonly rows: Virtualizer<HTMLDivElement, Element>;
  readonly lines: readonly LogLine[];
  /** Where each is among all lines; undefined where all are shown. */
  readonly places: readonly number[] | undefined;
  readonly wraps: boolean;
  readonly showsTimes: boolean;
  readonly search: Search;
  /** The line that the address names. */
  readonly named: number | undefined;
  readonly source: Source | undefined;
}) {
  const { rows, lines, places, wraps, showsTimes, search, named, source } = props;
  return (
    <div className={classes.lines} style={{ height: rows.getTotalSize() }}>
      {rows.getVirtualItems().map(({ index, start }) => {
        const line = lines[index];
        if (line === undefined) return null;
        return (
          <LogRow
            key={index}
            measure={wraps ? rows.measureElement : undefined}
            index={index}
            number={(places?.[index] ?? index) + 1}
            top={start}
            line={line}
            showsTime={showsTimes}
            found={search.text}
            isCurrent={(search.current ?? named) === index}
            source={source}
          />
        );
      })}
    </div>
  );
}

/**
 * The line that the address names, or else the one that is chosen. It is shown once all lines have come, or it has come itself
 * while the program goes on. Returns where it is.
 */
function useStart(of: {
  readonly lines: readonly LogLine[];
  readonly places: readonly number[] | undefined;
  readonly goesOn: boolean;
  readonly isWhole: boolean;
  readonly findStart: ((lines: readonly LogLine[]) => number | undefined) | undefined;
  readonly show: (index: number) => void;
}): number | undefined {
  const { lines, places, goesOn, isWhole, findStart, show } = of;
  const hash = useLocation({ select: (location) => location.hash });
  const named = readLogLine(hash);
  const at = places === undefined ? Math.min(named, lines.length) - 1 : places.indexOf(named - 1);
  const isHere = named > 0 && (places === undefined ? named <= lines.length : at >= 0);
  const isReady = isWhole || (goesOn && isHere);
  useEffect(() => {
    if (!isReady) return;
    const index = named > 0 ? at : findStart?.(lines);
    if (index !== undefined && index >= 0) show(index);
    // What it is chosen from is whole, and only another address moves it.
    // oxlint-disable-next-line react/exhaustive-deps
  }, [isReady, named]);
  return named > 0 ? at : undefined;
}

function Nothing({ state, error, stream }: Pick<Followed, "state" | "error"> & { stream: Stream }) {
  const none = stream === "all" ? "The program has written nothing." : `The program has written nothing to ${stream}.`;
  const words = state === "ended" ? none : "Nothing yet. Lines appear as they are written.";
  return (
    <Text c="dimmed" p="md">
      {error?.message ?? words}
    </Text>
  );
}
