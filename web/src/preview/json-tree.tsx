import { Button } from "@mantine/core";
import { useState } from "react";
import { type ExactJson, WrittenNumber } from "./exact-json.ts";
import classes from "./preview.module.css";

const OPEN_DEPTH = 2;
const ENTRIES_AT_ONCE = 100;

/** A JSON value that can be opened part by part. */
export function JsonTree({ value }: { value: ExactJson }) {
  return (
    <div className={classes.json}>
      <Node value={value} name={undefined} depth={0} />
    </div>
  );
}

function Node({ value, name, depth }: { value: ExactJson; name: string | undefined; depth: number }) {
  const label = name !== undefined && <span className={classes.jsonName}>{name}: </span>;
  if (typeof value !== "object" || value === null || value instanceof WrittenNumber) {
    return (
      <div>
        {label}
        <Scalar value={value} />
      </div>
    );
  }
  const entries = Array.isArray(value)
    ? value.map((each: ExactJson, index): [string, ExactJson] => [String(index), each])
    : Object.entries(value);
  const words = Array.isArray(value) ? `[${entries.length}]` : `{${entries.length}}`;
  if (entries.length === 0)
    return (
      <div>
        {label}
        {Array.isArray(value) ? "[]" : "{}"}
      </div>
    );
  return (
    <Branch
      label={
        <>
          {label}
          <span className={classes.jsonCount}>{words}</span>
        </>
      }
      entries={entries}
      depth={depth}
    />
  );
}

function Branch(props: { label: React.ReactNode; entries: readonly (readonly [string, ExactJson])[]; depth: number }) {
  const { label, entries, depth } = props;
  const [open, setOpen] = useState(depth < OPEN_DEPTH);
  const [shown, setShown] = useState(ENTRIES_AT_ONCE);
  return (
    <details open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{label}</summary>
      <div className={classes.jsonChildren}>
        {open &&
          entries
            .slice(0, shown)
            .map(([name, value]) => <Node key={name} name={name} value={value} depth={depth + 1} />)}
        {open && entries.length > shown && (
          <Button variant="default" onClick={() => setShown(shown + ENTRIES_AT_ONCE)}>
            {`${(entries.length - shown).toLocaleString("en")} more`}
          </Button>
        )}
      </div>
    </details>
  );
}

function Scalar({ value }: { value: string | number | boolean | null | WrittenNumber }) {
  const kind = value === null ? "null" : value instanceof WrittenNumber ? "number" : typeof value;
  const text = value instanceof WrittenNumber ? value.text : String(value);
  return (
    <span className={classes.jsonValue} data-kind={kind}>
      {typeof value === "string" ? JSON.stringify(value) : text}
    </span>
  );
}
