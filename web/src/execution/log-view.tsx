import { ActionIcon, Button, Group, Text, TextInput, Tooltip } from "@mantine/core";
import { useVirtualizer, type Virtualizer } from "@tanstack/react-virtual";
import {
  type KeyboardEvent,
  type ReactNode,
  useDeferredValue,
  useEffect,
  useMemo,
  useRef,
  useState,
  useSyncExternalStore,
} from "react";
import {
  ArrowDownIcon,
  ArrowUpIcon,
  ClockIcon,
  DownloadIcon,
  FollowIcon,
  SearchIcon,
  WrapIcon,
} from "../app/icons.tsx";
import type { Followed } from "./follow.ts";
import { useFollowing } from "./log-following.ts";
import { findLines, type LogLine } from "./log-lines.ts";
import { LogRow } from "./log-row.tsx";
import classes from "./log-view.module.css";

const ROW_PX = 20;
const ROWS_AHEAD = 24;
const HEIGHT_PX_MIN = 120;

/** The log of an execution or a build: coloured as in a terminal, searched, followed while it grows. Only what is seen is drawn. */
export function LogView(props: {
  /** Whose log it is, for screen readers. */
  readonly label: string;
  /** Whether more may come. */
  readonly goesOn: boolean;
  readonly followed: Pick<Followed, "log" | "state" | "error">;
  /** Whether its lines have the time at which they were written. */
  readonly hasTimes: boolean;
  /** Where all of it can be had as a file, and how that is called. */
  readonly download?: { readonly path: string; readonly fileName: string };
}) {
  const { label, goesOn, followed, hasTimes, download } = props;
  const { log, state, error } = followed;
  const count = useSyncExternalStore(log.subscribe, log.count);
  const place = useRef<HTMLDivElement>(null);
  const [wraps, setWraps] = useState(false);
  const [showsTimes, setShowsTimes] = useState(false);
  const rows = useVirtualizer({
    count,
    getScrollElement: () => place.current,
    estimateSize: () => ROW_PX,
    overscan: ROWS_AHEAD,
  });
  useEffect(() => rows.measure(), [rows, wraps]);
  const following = useFollowing(place, count, () => rows.scrollToIndex(count - 1, { align: "end" }));
  const search = useSearch(log.lines, count, (index) => {
    following.letGo();
    rows.scrollToIndex(index, { align: "center" });
  });
  return (
    <section className={classes.log} aria-label={label}>
      <div className={classes.tools}>
        <SearchField search={search} />
        <div className={classes.grow} />
        <StreamNote state={state} count={count} />
        {goesOn && state !== "ended" && (
          <Toggle
            label="Follow the end"
            on={following.on}
            onClick={following.on ? following.pause : following.resume}
            icon={<FollowIcon />}
          />
        )}
        <Toggle label="Wrap long lines" on={wraps} onClick={() => setWraps(!wraps)} icon={<WrapIcon />} />
        {hasTimes && (
          <Toggle label="Show times" on={showsTimes} onClick={() => setShowsTimes(!showsTimes)} icon={<ClockIcon />} />
        )}
        {download !== undefined && <DownloadButton {...download} />}
      </div>
      {/* A region that scrolls must be reached by keys, and what keys and wheel do to it is looked at, not done here. */}
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions */}
      <div
        ref={place}
        className={classes.scroll}
        style={{ height: Math.max(HEIGHT_PX_MIN, rows.getTotalSize() + ROW_PX) }}
        data-wraps={wraps}
        onScroll={following.look}
        onKeyDown={following.turnBack}
        onWheel={following.turnBack}
        tabIndex={0}
        role="region"
        aria-label="Lines of the log"
      >
        {count === 0 && <Nothing state={state} error={error} />}
        <Rows rows={rows} lines={log.lines} wraps={wraps} showsTimes={showsTimes} search={search} />
      </div>
      {!following.on && (
        <Button className={classes.latest} variant="default" leftSection={<ArrowDownIcon />} onClick={following.resume}>
          Latest
        </Button>
      )}
    </section>
  );
}

type Search = ReturnType<typeof useSearch>;

function Rows(props: {
  readonly rows: Virtualizer<HTMLDivElement, Element>;
  readonly lines: readonly LogLine[];
  readonly wraps: boolean;
  readonly showsTimes: boolean;
  readonly search: Search;
}) {
  const { rows, lines, wraps, showsTimes, search } = props;
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
            top={start}
            line={line}
            showsTime={showsTimes}
            found={search.text}
            isCurrent={search.current === index}
          />
        );
      })}
    </div>
  );
}

function useSearch(lines: Followed["log"]["lines"], count: number, show: (index: number) => void) {
  const [text, setText] = useState("");
  /** Which of those found is shown. The first, as soon as it is found. */
  const [at, setAt] = useState(0);
  const [seenText, seenCount] = [useDeferredValue(text), useDeferredValue(count)];
  const found = useMemo(() => (seenCount === 0 ? [] : findLines(lines, seenText)), [lines, seenText, seenCount]);
  useEffect(() => {
    if (found[0] !== undefined) show(found[0]);
    // What comes later, while the same is searched, moves nothing.
    // oxlint-disable-next-line react/exhaustive-deps
  }, [seenText]);
  const go = (step: number): void => {
    if (found.length === 0) return;
    const next = (at + step + found.length) % found.length;
    setAt(next);
    show(found[next] ?? 0);
  };
  const change = (value: string): void => {
    setText(value);
    setAt(0);
  };
  return { text: seenText, typed: text, change, go, at, count: found.length, current: found[at] };
}

function SearchField({ search }: { search: Search }) {
  const press = (event: KeyboardEvent): void => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    search.go(event.shiftKey ? -1 : 1);
  };
  return (
    <Group gap={4} wrap="nowrap" className={classes.search}>
      <TextInput
        size="xs"
        type="search"
        aria-label="Search the log"
        placeholder="Search the log"
        leftSection={<SearchIcon />}
        value={search.typed}
        onChange={(event) => search.change(event.currentTarget.value)}
        onKeyDown={press}
      />
      {search.typed !== "" && (
        <>
          <Text span size="sm" c="dimmed" className="number" role="status">
            {search.count === 0 ? "None" : `${search.at + 1} of ${search.count.toLocaleString("en")}`}
          </Text>
          <ActionIcon aria-label="Line before" onClick={() => search.go(-1)}>
            <ArrowUpIcon />
          </ActionIcon>
          <ActionIcon aria-label="Next line" onClick={() => search.go(1)}>
            <ArrowDownIcon />
          </ActionIcon>
        </>
      )}
    </Group>
  );
}

function Toggle(props: { label: string; on: boolean; onClick: () => void; icon: ReactNode }) {
  const { label, on, onClick, icon } = props;
  return (
    <Tooltip label={label}>
      <ActionIcon aria-label={label} aria-pressed={on} variant={on ? "light" : "subtle"} onClick={onClick}>
        {icon}
      </ActionIcon>
    </Tooltip>
  );
}

function DownloadButton({ path, fileName }: { path: string; fileName: string }) {
  return (
    <Tooltip label="Download the log">
      <ActionIcon component="a" href={path} download={fileName} aria-label="Download the log">
        <DownloadIcon />
      </ActionIcon>
    </Tooltip>
  );
}

function StreamNote({ state, count }: { state: Followed["state"]; count: number }) {
  if (state === "waiting") return <Text size="sm">Connecting again …</Text>;
  return (
    <Text size="sm" c="dimmed" className="number">
      {count === 1 ? "1 line" : `${count.toLocaleString("en")} lines`}
    </Text>
  );
}

function Nothing({ state, error }: Pick<Followed, "state" | "error">) {
  const words =
    state === "ended" ? "The program has written nothing." : "Nothing yet. Lines appear as they are written.";
  return (
    <Text c="dimmed" p="md">
      {error?.message ?? words}
    </Text>
  );
}
