import { Text, useMantineColorScheme } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useQuery } from "@tanstack/react-query";
import { useLocation, useNavigate, useParams } from "@tanstack/react-router";
import { type KeyboardEvent, useId, useState } from "react";
import { isExecutionId } from "../../../domain/ids.ts";
import { messageOf } from "../../../domain/message-of.ts";
import { revealKey } from "../api-trigger/keys.ts";
import { TABS } from "../workflows/tabs.ts";
import { workflowsQuery } from "../workflows/workflows.ts";
import { Dialog } from "./dialog.tsx";
import { SearchIcon } from "./icons.tsx";
import classes from "./palette.module.css";
import { signOut, useMayChange } from "./session.ts";

const SHOWN_MAX = 12;

interface Entry {
  readonly label: string;
  readonly kind: string;
  readonly act: () => void;
}

/** Everything there is to go to or to do, by a few letters of its name, or a run by its id. Arrow keys choose, Enter goes. */
export function CommandPalette({ onClose }: { onClose: () => void }) {
  const [text, setText] = useState("");
  const [chosen, setChosen] = useState(0);
  const listId = useId();
  const entries = useEntries(text);
  const at = Math.min(chosen, entries.length - 1);
  const act = (entry: Entry | undefined): void => {
    if (entry === undefined) return;
    onClose();
    entry.act();
  };
  const press = (event: KeyboardEvent): void => {
    if (event.key === "ArrowDown") setChosen(Math.min(at + 1, entries.length - 1));
    else if (event.key === "ArrowUp") setChosen(Math.max(at - 1, 0));
    else if (event.key === "Enter") act(entries[at]);
    else return;
    event.preventDefault();
  };
  return (
    <Dialog
      onClose={onClose}
      withCloseButton={false}
      padding={0}
      size="md"
      yOffset="12vh"
      attributes={{ content: { "aria-label": "Go to" } }}
    >
      <div className={classes.field}>
        <SearchIcon />
        <input
          data-autofocus
          role="combobox"
          aria-label="Go to"
          aria-expanded="true"
          aria-controls={listId}
          aria-activedescendant={at >= 0 ? `${listId}-${at}` : undefined}
          placeholder="Workflow, page, command or run id"
          value={text}
          onKeyDown={press}
          onChange={(event) => {
            setText(event.currentTarget.value);
            setChosen(0);
          }}
        />
      </div>
      <div className={classes.list} id={listId} role="listbox" aria-label="Found">
        {entries.map((entry, index) => (
          // The field keeps the focus; its keys do what a click does.
          // oxlint-disable-next-line jsx-a11y/click-events-have-key-events, jsx-a11y/interactive-supports-focus
          <div
            key={`${entry.kind} ${entry.label} ${index}`}
            id={`${listId}-${index}`}
            role="option"
            aria-selected={index === at}
            className={classes.entry}
            onClick={() => act(entry)}
            onMouseMove={() => setChosen(index)}
          >
            <span>{entry.label}</span>
            <span className={classes.kind}>{entry.kind}</span>
          </div>
        ))}
      </div>
      <FoundNote count={entries.length} />
    </Dialog>
  );
}

/** The element is always in the page: screen readers announce changes only in elements they know. */
function FoundNote({ count }: { count: number }) {
  return (
    <div role="status">
      {count === 0 && (
        <Text c="dimmed" p="md">
          No name has these letters.
        </Text>
      )}
    </div>
  );
}

function useEntries(text: string): readonly Entry[] {
  const navigate = useNavigate();
  const { workflowId } = useParams({ strict: false });
  const isCode = useLocation({ select: ({ pathname }) => pathname.endsWith("/code") });
  const mayChange = useMayChange();
  const { setColorScheme } = useMantineColorScheme();
  const { data: workflows = [] } = useQuery(workflowsQuery());
  const go = (href: string) => () => void navigate({ href });
  const pages: readonly Entry[] = [
    { label: "Workflows", kind: "Page", act: go("/") },
    { label: "Runs", kind: "Page", act: go("/executions") },
    { label: "Running now", kind: "Page", act: go("/executions?state=running") },
    { label: "Failed runs", kind: "Page", act: go("/executions?state=failed") },
    { label: "Credits and spend", kind: "Page", act: go("/account") },
    { label: "Members and invitations", kind: "Page", act: go("/account/members") },
    { label: "Secrets and variables", kind: "Page", act: go("/account/secrets") },
    { label: "Notices and places", kind: "Page", act: go("/account/notices") },
    { label: "Access tokens", kind: "Page", act: go("/account/tokens") },
    { label: "Password and sessions", kind: "Page", act: go("/account/security") },
  ];
  const commands: readonly Entry[] = [
    { label: "Light colours", kind: "Command", act: () => setColorScheme("light") },
    { label: "Dark colours", kind: "Command", act: () => setColorScheme("dark") },
    { label: "Colours of the system", kind: "Command", act: () => setColorScheme("auto") },
    { label: "Sign out", kind: "Command", act: () => void signOut() },
  ];
  const here = workflows.find((workflow) => workflow.workflowId === workflowId);
  const tabs =
    here === undefined
      ? []
      : TABS.map(({ to, label }): Entry => {
          return {
            label: `${label} of ${here.name}`,
            kind: "This workflow",
            act: go(to.replace("$workflowId", here.workflowId)),
          };
        });
  const id = text.trim();
  const named = isExecutionId(id) ? [{ label: `Run ${id}`, kind: "Run", act: go(`/executions/${id}`) }] : [];
  const found = workflows.map(({ name, workflowId }) => ({
    label: name,
    kind: "Workflow",
    act: go(`/workflows/${workflowId}/overview`),
  }));
  const acts = here === undefined ? [] : listActs(here, isCode);
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return [...named, ...(mayChange ? acts : []), ...tabs, ...found, ...pages, ...commands]
    .filter(({ label }) => words.every((word) => label.toLowerCase().includes(word)))
    .slice(0, SHOWN_MAX);
}

/** What can be done to the workflow whose page is open. Its code has keys of its own for the last two. */
function listActs({ workflowId, name }: { workflowId: string; name: string }, isCode: boolean): readonly Entry[] {
  const copy: Entry = { label: `Copy the API key of ${name}`, kind: "Command", act: () => void copyKey(workflowId) };
  if (!isCode) return [copy];
  return [
    copy,
    { label: "Run the draft", kind: "Command", act: () => pressInCode({ shiftKey: false }) },
    { label: "Commit the draft", kind: "Command", act: () => pressInCode({ shiftKey: true }) },
  ];
}

async function copyKey(workflowId: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(await revealKey(workflowId));
    notifications.show({ title: "The API key is copied", message: "Anyone who has it can run the latest commit." });
  } catch (error) {
    notifications.show({ color: "red", title: "The API key is not copied", message: messageOf(error) });
  }
}

/** Once the palette is gone: a dialog keeps keys to itself. */
function pressInCode({ shiftKey }: { shiftKey: boolean }): void {
  const keys = { key: "Enter", code: "Enter", ctrlKey: true, shiftKey, bubbles: true };
  setTimeout(() => document.documentElement.dispatchEvent(new KeyboardEvent("keydown", keys)));
}
