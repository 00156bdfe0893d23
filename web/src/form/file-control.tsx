import { ActionIcon, Button, Input } from "@mantine/core";
import { useWindowEvent } from "@mantine/hooks";
import { type DragEvent, type ReactNode, useId, useRef, useState } from "react";
import type { FileInput, FileListInput } from "../../../domain/manifest/manifest.ts";
import { formatBytes, formatSize } from "../../../domain/manifest/sizes.ts";
import { CrossIcon, FileIcon, UploadIcon } from "../app/icons.tsx";
import { readDropped } from "../code/dropped-files.ts";
import classes from "./file-control.module.css";
import type { FormFile } from "./values.ts";

/** Files by choosing or dropping them. One more for a list of files is added, for a single file it takes the other's place. */
export function FileControl(props: {
  readonly input: FileInput | FileListInput;
  readonly files: readonly FormFile[];
  readonly error: string | undefined;
  readonly onChange: (files: readonly FormFile[]) => void;
}) {
  const { input, files, error, onChange } = props;
  const id = useId();
  const field = useRef<HTMLInputElement>(null);
  const several = input.kind === "file_list";
  const take = (list: readonly File[]): void => {
    const chosen = list.map((file): FormFile => ({ kind: "chosen", file }));
    if (chosen.length > 0) onChange(several ? [...files, ...chosen] : chosen.slice(0, 1));
  };
  return (
    <Input.Wrapper
      label={input.label}
      description={input.description === "" ? undefined : input.description}
      required={input.required}
      error={error}
      labelElement="div"
      labelProps={{ id: `${id}-label` }}
      errorProps={{ id: `${id}-error` }}
    >
      <DropZone isWrong={error !== undefined} onFiles={(dropped) => void readFiles(dropped, several).then(take)}>
        <FileNames files={files} onRemove={(index) => onChange(files.filter((_, at) => at !== index))} />
        <div className={classes.choose}>
          <Button
            variant="default"
            leftSection={<UploadIcon />}
            data-input={input.name}
            aria-describedby={`${id}-label ${id}-rules${error === undefined ? "" : ` ${id}-error`}`}
            onClick={() => field.current?.click()}
          >
            {chooseWords(several, files.length)}
          </Button>
          <span id={`${id}-rules`} className={classes.rules}>
            or drop {several ? "them" : "it"} here · {describeRules(input)}
          </span>
        </div>
        <input
          ref={field}
          type="file"
          hidden
          multiple={several}
          accept={input.accept.join(",")}
          aria-label={input.label}
          onChange={(event) => {
            take([...(event.currentTarget.files ?? [])]);
            event.currentTarget.value = "";
          }}
        />
      </DropZone>
    </Input.Wrapper>
  );
}

/** Dropping is one more way to do what the button in it does. */
function DropZone(props: { isWrong: boolean; onFiles: (dropped: DataTransfer) => void; children: ReactNode }) {
  const [over, setOver] = useState(false);
  const drop = (event: DragEvent): void => {
    event.preventDefault();
    setOver(false);
    props.onFiles(event.dataTransfer);
  };
  // A browser opens what is dropped beside the zone in the place of the page, and the form is gone.
  useWindowEvent("dragover", refuseFiles);
  useWindowEvent("drop", refuseFiles);
  return (
    // oxlint-disable-next-line jsx-a11y/no-static-element-interactions
    <div
      className={classes.zone}
      data-over={over || undefined}
      data-error={props.isWrong || undefined}
      onDragOver={(event) => {
        if (!event.dataTransfer.types.includes("Files")) return;
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={drop}
    >
      {props.children}
    </div>
  );
}

function refuseFiles(event: globalThis.DragEvent): void {
  const { dataTransfer, defaultPrevented } = event;
  if (defaultPrevented || dataTransfer?.types.includes("Files") !== true) return;
  event.preventDefault();
  dataTransfer.dropEffect = "none";
}

/** What was dropped; of folders, what is in them where several files are wanted. Must be called while the event lasts. */
async function readFiles(dropped: DataTransfer, several: boolean): Promise<File[]> {
  const files = [...dropped.files];
  const entries = [...dropped.items].map((item) => item.webkitGetAsEntry());
  if (!entries.some((entry) => entry?.isDirectory === true)) return files;
  if (!several) return files.filter((_, index) => entries[index]?.isDirectory !== true);
  return (await readDropped(dropped.items, "")).map(({ file }) => file);
}

function FileNames({ files, onRemove }: { files: readonly FormFile[]; onRemove: (index: number) => void }) {
  if (files.length === 0) return null;
  return (
    <ul className={classes.files}>
      {files.map((file, index) => {
        const name = file.kind === "kept" ? file.fileName : file.file.name;
        const bytes = file.kind === "kept" ? file.bytes : file.file.size;
        return (
          <li key={`${index} ${name}`}>
            <FileIcon />
            <span className={classes.name}>{name}</span>
            <span className={classes.size}>
              {formatBytes(bytes)}
              {file.kind === "kept" && " · from the earlier run"}
            </span>
            <ActionIcon size={24} aria-label={`Remove ${name}`} onClick={() => onRemove(index)}>
              <CrossIcon />
            </ActionIcon>
          </li>
        );
      })}
    </ul>
  );
}

function chooseWords(several: boolean, count: number): string {
  if (several) return count === 0 ? "Choose files" : "Add files";
  return count === 0 ? "Choose a file" : "Choose another";
}

function describeRules(input: FileInput | FileListInput): string {
  const accepted = input.accept.length === 0 ? "any kind" : input.accept.join(", ");
  const each = input.kind === "file_list" ? ` each, at most ${input.filesMax}` : "";
  return `${accepted}, up to ${formatSize(input.bytesMax)}${each}`;
}
