import { Button, Group, NativeSelect, TextInput } from "@mantine/core";
import { useDebouncedCallback } from "@mantine/hooks";
import { useEffect, useRef, useState } from "react";
import { EXECUTION_ENDS, TRIGGERS } from "../../../domain/execution.ts";
import { SearchIcon } from "../app/icons.tsx";
import type { ExecutionFilters } from "./executions.ts";
import classes from "./filters.module.css";
import { TRIGGER_WORDS } from "./state.tsx";
import { STATES } from "./states.ts";

const TYPING_MS = 300;
const STATE_CHOICES = [
  { value: "", label: "Any state" },
  ...(["queued", "running", ...EXECUTION_ENDS] as const).map((value) => ({ value, label: STATES[value].label })),
];
const TRIGGER_CHOICES = [
  { value: "", label: "Any trigger" },
  ...TRIGGERS.map((value) => ({ value, label: TRIGGER_WORDS[value] })),
];

/** What the list is narrowed to. The page's address holds it: it can be kept, sent, and gone back to. */
export function Filters(props: {
  readonly filters: ExecutionFilters;
  /** Whether all are of one workflow: commits are a workflow's own. */
  readonly ofWorkflow: boolean;
  readonly onChange: (filters: ExecutionFilters) => void;
}) {
  const { filters, ofWorkflow, onChange } = props;
  const set = (name: keyof ExecutionFilters, value: string): void => {
    const { [name]: _, ...others } = filters;
    onChange(value === "" ? others : { ...others, [name]: value });
  };
  const { workflow: _, ...own } = filters;
  return (
    <Group gap="xs" mb="md" role="search" aria-label="Narrow the list" className={classes.filters}>
      <NativeSelect
        size="xs"
        aria-label="State"
        data={STATE_CHOICES}
        value={filters.state ?? ""}
        onChange={(event) => set("state", event.currentTarget.value)}
      />
      <NativeSelect
        size="xs"
        aria-label="Trigger"
        data={TRIGGER_CHOICES}
        value={filters.trigger ?? ""}
        onChange={(event) => set("trigger", event.currentTarget.value)}
      />
      <TextInput
        size="xs"
        type="date"
        leftSection="From"
        leftSectionWidth={44}
        aria-label="From this day on"
        max={filters.to ?? ""}
        value={filters.from ?? ""}
        onChange={(event) => set("from", event.currentTarget.value)}
      />
      <TextInput
        size="xs"
        type="date"
        leftSection="To"
        leftSectionWidth={30}
        aria-label="Until this day"
        min={filters.from ?? ""}
        value={filters.to ?? ""}
        onChange={(event) => set("to", event.currentTarget.value)}
      />
      {ofWorkflow && <TypedFilter name="commit" label="Commit" filters={filters} set={set} />}
      <TypedFilter name="text" label="Text" filters={filters} set={set} />
      {Object.keys(own).length > 0 && (
        <Button variant="subtle" color="gray" onClick={() => onChange(keepWorkflow(filters))}>
          Clear
        </Button>
      )}
    </Group>
  );
}

function keepWorkflow({ workflow }: ExecutionFilters): ExecutionFilters {
  return workflow === undefined ? {} : { workflow };
}

/** As the service takes it: the beginning of an id will do. */
const COMMIT_BEGIN = /^([0-9a-f]{4,40})?$/;

/** A filter that is written: the list follows when the typing pauses, and when what is written can be looked for. */
function TypedFilter(props: {
  name: "commit" | "text";
  label: string;
  filters: ExecutionFilters;
  set: (name: "commit" | "text", value: string) => void;
}) {
  const { name, label, filters, set } = props;
  const inAddress = filters[name] ?? "";
  const [text, setText] = useState(inAddress);
  const told = useRef(inAddress);
  // A text that is being typed stays as it is typed; one from elsewhere replaces it.
  useEffect(() => {
    if (inAddress === told.current) return;
    told.current = inAddress;
    setText(inAddress);
  }, [inAddress]);
  const tell = useDebouncedCallback((value: string) => {
    told.current = value;
    set(name, value);
  }, TYPING_MS);
  const change = (written: string): void => {
    setText(written);
    if (isMeant(name, toValue(name, written))) tell(toValue(name, written));
  };
  return (
    <TextInput
      size="xs"
      type="search"
      aria-label={label}
      placeholder={label}
      {...(name === "text" ? { leftSection: <SearchIcon /> } : {})}
      className={classes[name]}
      error={!isMeant(name, toValue(name, text))}
      value={text}
      onChange={(event) => change(event.currentTarget.value)}
    />
  );
}

function toValue(name: "commit" | "text", written: string): string {
  return name === "commit" ? written.trim().toLowerCase() : written.trim();
}

function isMeant(name: "commit" | "text", value: string): boolean {
  return name === "text" || COMMIT_BEGIN.test(value);
}
