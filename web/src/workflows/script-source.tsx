import { Button, Text, Textarea } from "@mantine/core";
import { useWindowEvent } from "@mantine/hooks";
import { type ClipboardEvent, type DragEvent, useRef, useState } from "react";
import { UploadIcon } from "../app/icons.tsx";
import classes from "./script-dialog.module.css";

/** What a script is called whose text was pasted. */
const PASTED_NAME = "script.py";

/** A Python file as its author has it. */
export interface GivenScript {
  readonly name: string;
  readonly text: string;
}

interface ScriptSourceProps {
  /** Whether one is being read. */
  readonly busy: boolean;
  readonly onGiven: (script: GivenScript) => void;
}

/** One `.py` file, dropped, chosen or pasted. Each is taken at once; what is typed waits for the button. */
export function ScriptSource({ busy, onGiven }: ScriptSourceProps) {
  return (
    <>
      <ScriptFile busy={busy} onGiven={onGiven} />
      <ScriptText busy={busy} onGiven={onGiven} />
    </>
  );
}

function ScriptFile({ busy, onGiven }: ScriptSourceProps) {
  const field = useRef<HTMLInputElement>(null);
  const [over, setOver] = useState(false);
  const take = (file: File | undefined): void => {
    if (file !== undefined) void file.text().then((text) => onGiven({ name: file.name, text }));
  };
  const drop = (event: DragEvent): void => {
    event.preventDefault();
    setOver(false);
    take(event.dataTransfer.files[0]);
  };
  // A browser opens what is dropped beside the zone in the place of the page.
  useWindowEvent("dragover", (event) => event.preventDefault());
  useWindowEvent("drop", (event) => event.preventDefault());
  return (
    // Dropping is one more way to do what the button in it does.
    // oxlint-disable-next-line jsx-a11y/no-static-element-interactions
    <div
      className={classes.zone}
      data-over={over || undefined}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={drop}
    >
      <Button leftSection={<UploadIcon />} loading={busy} data-autofocus onClick={() => field.current?.click()}>
        Choose a .py file
      </Button>
      <Text size="sm" c="dimmed">
        or drop it here
      </Text>
      <input
        ref={field}
        type="file"
        hidden
        accept=".py"
        aria-label="Python file"
        onChange={(event) => {
          take(event.currentTarget.files?.[0]);
          event.currentTarget.value = "";
        }}
      />
    </div>
  );
}

function ScriptText({ busy, onGiven }: ScriptSourceProps) {
  const [typed, setTyped] = useState("");
  const paste = (event: ClipboardEvent): void => {
    const text = event.clipboardData.getData("text");
    if (typed !== "" || text.trim() === "") return;
    event.preventDefault();
    setTyped(text);
    onGiven({ name: PASTED_NAME, text });
  };
  return (
    <>
      <Textarea
        label="Or paste it"
        placeholder="import argparse …"
        rows={5}
        spellCheck={false}
        classNames={{ input: classes.typed }}
        value={typed}
        onPaste={paste}
        onChange={(event) => setTyped(event.currentTarget.value)}
      />
      {typed.trim() !== "" && (
        <Button
          variant="default"
          loading={busy}
          className={classes.read}
          onClick={() => onGiven({ name: PASTED_NAME, text: typed })}
        >
          Read it
        </Button>
      )}
    </>
  );
}
