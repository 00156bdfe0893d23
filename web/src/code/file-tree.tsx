import { TextInput } from "@mantine/core";
import { type DragEvent, type KeyboardEvent, useRef, useState } from "react";
import { ChevronDownIcon, ChevronRightIcon, FileIcon } from "../app/icons.tsx";
import classes from "./file-tree.module.css";
import { findMove, findNameProblem, folderOf, listRows, type TreeRow } from "./tree.ts";

/** What is being given a name: a row that is there, or a new file. */
export type Naming =
  | { readonly kind: "rename"; readonly path: string }
  | { readonly kind: "create"; readonly folder: string };

export interface FileTreeProps {
  readonly paths: readonly string[];
  /** The file that is shown. */
  readonly open: string;
  /** Files with problems, and files that are not saved yet. */
  readonly troubled: ReadonlySet<string>;
  readonly unsaved: ReadonlySet<string>;
  readonly mayChange: boolean;
  readonly naming: Naming | undefined;
  readonly onNaming: (naming: Naming | undefined) => void;
  readonly onOpen: (path: string) => void;
  readonly onCreate: (path: string) => void;
  readonly onRename: (from: string, to: string, kind: TreeRow["kind"]) => void;
  readonly onDelete: (row: TreeRow) => void;
  /** Files or folders that were dropped on a folder, which ends in a slash, or is empty for the top. */
  readonly onDrop: (items: DataTransferItemList, folder: string) => void;
}

/** The files of a workflow. Arrow keys move, Enter opens, F2 renames, Delete deletes. */
export function FileTree(props: FileTreeProps) {
  const { paths, open, mayChange, naming, onNaming } = props;
  const [collapsed, setCollapsed] = useState<ReadonlySet<string>>(new Set());
  const [focused, setFocused] = useState(open);
  const list = useRef<HTMLDivElement>(null);
  const dropping = useDropping(mayChange, props.onDrop);
  const rows = listRows(paths, collapsed);
  const tabStop = rows.some(({ path }) => path === focused) ? focused : (rows[0]?.path ?? "");

  const fold = (path: string, shut: boolean): void => {
    const others = [...collapsed].filter((other) => other !== path);
    setCollapsed(new Set(shut ? [...others, path] : others));
  };
  const choose = (row: TreeRow): void => {
    setFocused(row.path);
    if (row.kind === "folder") fold(row.path, row.expanded);
    else props.onOpen(row.path);
  };
  const press = (event: KeyboardEvent, row: TreeRow): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Enter" || event.key === " ") choose(row);
    else if (event.key === "F2" && mayChange) onNaming({ kind: "rename", path: row.path });
    else if (event.key === "Delete" && mayChange) props.onDelete(row);
    else {
      const move = findMove(rows, row.path, event.key);
      if (move.kind === "none") return;
      if (move.kind === "focus") {
        setFocused(move.path);
        list.current?.querySelector<HTMLElement>(`[data-row="${CSS.escape(move.path)}"]`)?.focus();
      } else fold(move.path, move.kind === "collapse");
    }
    event.preventDefault();
  };

  return (
    <div ref={list} role="tree" tabIndex={-1} aria-label="Files" className={classes.tree} {...dropping("")}>
      {naming?.kind === "create" && (
        <NameField
          label="Name of the new file"
          initial={naming.folder}
          paths={paths}
          onCancel={() => onNaming(undefined)}
          onName={props.onCreate}
        />
      )}
      {rows.map((row) =>
        naming?.kind === "rename" && naming.path === row.path ? (
          <RenameField key={row.path} row={row} {...props} />
        ) : (
          <div
            key={row.path}
            role="treeitem"
            aria-selected={row.path === open}
            {...describeRow(row, props)}
            tabIndex={row.path === tabStop ? 0 : -1}
            className={classes.row}
            onClick={() => choose(row)}
            onDoubleClick={() => mayChange && row.kind === "file" && onNaming({ kind: "rename", path: row.path })}
            onKeyDown={(event) => press(event, row)}
            onFocus={() => setFocused(row.path)}
            {...dropping(folderOf(row))}
          >
            <RowContent row={row} unsaved={props.unsaved.has(row.path)} troubled={props.troubled.has(row.path)} />
          </div>
        ),
      )}
    </div>
  );
}

/** What a place in the tree needs so that files can be dropped on it. */
function useDropping(mayDrop: boolean, onDrop: FileTreeProps["onDrop"]) {
  const [over, setOver] = useState<string>();
  return (folder: string) => ({
    "data-over": over === folder || undefined,
    onDragOver(event: DragEvent): void {
      if (!mayDrop || !event.dataTransfer.types.includes("Files")) return;
      event.preventDefault();
      event.stopPropagation();
      setOver(folder);
    },
    onDragLeave: () => setOver(undefined),
    onDrop(event: DragEvent): void {
      setOver(undefined);
      if (!mayDrop || event.dataTransfer.items.length === 0) return;
      event.preventDefault();
      event.stopPropagation();
      onDrop(event.dataTransfer.items, folder);
    },
  });
}

function RowContent({ row, unsaved, troubled }: { row: TreeRow; unsaved: boolean; troubled: boolean }) {
  const FolderIcon = row.expanded ? ChevronDownIcon : ChevronRightIcon;
  return (
    <>
      {row.kind === "file" ? <FileIcon size={14} /> : <FolderIcon size={14} />}
      <span className={classes.name}>{row.name}</span>
      {unsaved && <span className={classes.dot} title="Not saved yet" />}
      {troubled && <span className={classes.trouble} title="Has problems" />}
    </>
  );
}

function RenameField({ row, paths, onNaming, onRename }: FileTreeProps & { row: TreeRow }) {
  const others = row.kind === "folder" ? paths.filter((path) => !path.startsWith(`${row.path}/`)) : paths;
  return (
    <NameField
      label={`New name of ${row.name}`}
      initial={row.path}
      self={row.path}
      paths={others}
      onCancel={() => onNaming(undefined)}
      onName={(name) => onRename(row.path, name, row.kind)}
    />
  );
}

/** Deeper rows are not indented further. */
const LEVELS_SHOWN = 8;

function describeRow(row: TreeRow, { unsaved, troubled }: FileTreeProps) {
  const { path, name, kind, level, expanded, position, siblings } = row;
  return {
    "aria-level": level,
    "aria-posinset": position,
    "aria-setsize": siblings,
    "aria-expanded": kind === "folder" ? expanded : undefined,
    "aria-label": `${name}${unsaved.has(path) ? ", not saved yet" : ""}${troubled.has(path) ? ", has problems" : ""}`,
    "data-row": path,
    "data-level": Math.min(level, LEVELS_SHOWN),
  };
}

interface NameFieldProps {
  readonly label: string;
  readonly initial: string;
  readonly paths: readonly string[];
  readonly self?: string;
  readonly onName: (path: string) => void;
  readonly onCancel: () => void;
}

function NameField({ label, initial, paths, self, onName, onCancel }: NameFieldProps) {
  const [name, setName] = useState(initial);
  const problem = name === initial ? undefined : findNameProblem(name, paths, self);
  const finish = (): void => {
    if (name === initial || name === "") onCancel();
    else if (problem === undefined) onName(name);
  };
  const selectStem = (field: HTMLInputElement | null): void => {
    if (field === null || document.activeElement === field) return;
    field.focus();
    const start = initial.lastIndexOf("/") + 1;
    const dot = initial.lastIndexOf(".");
    field.setSelectionRange(start, dot > start ? dot : initial.length);
  };
  return (
    <TextInput
      ref={selectStem}
      size="xs"
      aria-label={label}
      className={classes.field}
      value={name}
      error={problem}
      spellCheck={false}
      autoComplete="off"
      onChange={(event) => setName(event.currentTarget.value)}
      onBlur={() => (problem === undefined ? finish() : onCancel())}
      onKeyDown={(event) => {
        event.stopPropagation();
        if (event.key === "Enter") finish();
        if (event.key === "Escape") onCancel();
      }}
    />
  );
}
