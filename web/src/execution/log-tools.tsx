import { ActionIcon, Group, SegmentedControl, Text, TextInput } from "@mantine/core";
import type { KeyboardEvent, ReactNode } from "react";
import { Hint } from "../app/hint.tsx";
import {
  ArrowDownIcon,
  ArrowUpIcon,
  ClockIcon,
  DownloadIcon,
  ExpandIcon,
  FollowIcon,
  SearchIcon,
  WrapIcon,
} from "../app/icons.tsx";
import type { Followed } from "./follow.ts";
import type { FullScreen } from "./full-screen.ts";
import type { Stream } from "./log-filter.ts";
import type { Search } from "./log-search.ts";
import classes from "./log-view.module.css";

const STREAMS: { value: Stream; label: string }[] = [
  { value: "all", label: "All" },
  { value: "stdout", label: "stdout" },
  { value: "stderr", label: "stderr" },
];

/** What stands above the lines of a log: its search, how many there are, and how they are shown. */
export function LogTools(props: {
  readonly search: Search;
  readonly state: Followed["state"];
  /** How many lines are shown. */
  readonly count: number;
  /** Undefined where streams are not told apart. */
  readonly shown: { readonly stream: Stream; readonly choose: (stream: Stream) => void } | undefined;
  readonly full: FullScreen;
  /** Undefined where nothing more comes. */
  readonly following: { readonly on: boolean; pause(): void; resume(): void } | undefined;
  readonly wraps: boolean;
  readonly onWrap: () => void;
  /** Undefined where lines have no times. */
  readonly times: { readonly shown: boolean; readonly onToggle: () => void } | undefined;
  readonly download: { readonly path: string; readonly fileName: string } | undefined;
}) {
  const { search, state, count, shown, full, following, wraps, onWrap, times, download } = props;
  return (
    <div className={classes.tools}>
      <SearchField search={search} />
      <div className={classes.grow} />
      {shown !== undefined && (
        <SegmentedControl
          className={classes.streams}
          size="xs"
          aria-label="Stream"
          data={STREAMS}
          value={shown.stream}
          onChange={shown.choose}
        />
      )}
      <StreamNote state={state} count={count} />
      {following !== undefined && (
        <Toggle
          label="Follow the end"
          on={following.on}
          onClick={following.on ? following.pause : following.resume}
          icon={<FollowIcon />}
        />
      )}
      <Toggle label="Wrap long lines" on={wraps} onClick={onWrap} icon={<WrapIcon />} />
      {times !== undefined && (
        <Toggle label="Show times" on={times.shown} onClick={times.onToggle} icon={<ClockIcon />} />
      )}
      {download !== undefined && <DownloadButton {...download} />}
      {full.isPossible && <Toggle label="Full screen" on={full.isOn} onClick={full.toggle} icon={<ExpandIcon />} />}
    </div>
  );
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
    <Hint label={label}>
      <ActionIcon aria-label={label} aria-pressed={on} variant={on ? "light" : "subtle"} onClick={onClick}>
        {icon}
      </ActionIcon>
    </Hint>
  );
}

function DownloadButton({ path, fileName }: { path: string; fileName: string }) {
  return (
    <Hint label="Download the log">
      <ActionIcon component="a" href={path} download={fileName} aria-label="Download the log">
        <DownloadIcon />
      </ActionIcon>
    </Hint>
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
