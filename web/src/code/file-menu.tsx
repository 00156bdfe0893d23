import { ActionIcon, Menu, Tooltip } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { type ChangeEvent, useRef } from "react";
import { confirm } from "../app/confirm.ts";
import { DotsIcon, PlusIcon, UploadIcon } from "../app/icons.tsx";
import classes from "./code-tab.module.css";
import type { DraftSaving } from "./draft-saving.ts";
import { discardDraft, draftPath } from "./drafts.ts";
import type { FileActions } from "./file-actions.ts";

/** Above the files: new ones, uploads, and what else can be done with them. */
export function FileMenu(props: {
  readonly workflowId: string;
  readonly saving: DraftSaving;
  readonly open: string;
  readonly mayChange: boolean;
  readonly actions: FileActions;
}) {
  const { workflowId, saving, open, mayChange, actions } = props;
  const files = useRef<HTMLInputElement>(null);
  const folder = useRef<HTMLInputElement>(null);
  const choose = (event: ChangeEvent<HTMLInputElement>): void => {
    if (event.currentTarget.files !== null) actions.upload(event.currentTarget.files);
    event.currentTarget.value = "";
  };
  return (
    <div className={classes.fileMenu}>
      <span className={classes.fileTitle}>Files</span>
      {mayChange && (
        <>
          <Tooltip label="New file">
            <ActionIcon aria-label="New file" onClick={actions.beginCreate}>
              <PlusIcon />
            </ActionIcon>
          </Tooltip>
          <Tooltip label="Upload files">
            <ActionIcon aria-label="Upload files" onClick={() => files.current?.click()}>
              <UploadIcon />
            </ActionIcon>
          </Tooltip>
          <input ref={files} type="file" multiple hidden aria-label="Files to upload" onChange={choose} />
          <input ref={folder} type="file" hidden aria-label="Folder to upload" onChange={choose} {...WHOLE_FOLDER} />
        </>
      )}
      <Menu>
        <Menu.Target>
          <ActionIcon aria-label="More about files">
            <DotsIcon />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          {mayChange && (
            <>
              <Menu.Item onClick={actions.beginRename} rightSection={<kbd>F2</kbd>}>
                Rename {open}
              </Menu.Item>
              <Menu.Item
                onClick={() => actions.confirmDelete({ path: open, kind: "file" })}
                rightSection={<kbd>Del</kbd>}
              >
                Delete {open}
              </Menu.Item>
              <Menu.Item onClick={() => folder.current?.click()}>Upload a folder</Menu.Item>
            </>
          )}
          <Menu.Item component="a" href={`${draftPath(workflowId)}/files/${encodeURIComponent(open)}`} download>
            Download {open}
          </Menu.Item>
          {mayChange && (
            <>
              <Menu.Divider />
              <Menu.Item c="var(--state-failure)" onClick={() => confirmDiscard(workflowId, saving)}>
                Discard this draft
              </Menu.Item>
            </>
          )}
        </Menu.Dropdown>
      </Menu>
    </div>
  );
}

/** Browsers know it, React's types do not. */
const WHOLE_FOLDER: Readonly<Record<string, string>> = { webkitdirectory: "" };

function confirmDiscard(workflowId: string, saving: DraftSaving): void {
  confirm({
    title: "Discard this draft?",
    text: "Everything you have written since the last commit is lost, and the files are as committed.",
    yes: "Discard",
    act: () =>
      void discardDraft(workflowId, saving).catch((error: Error) =>
        notifications.show({ color: "red", title: "The draft was not discarded", message: error.message }),
      ),
  });
}
