import { notifications } from "@mantine/notifications";
import { messageOf } from "../../../domain/message-of.ts";
import { confirm } from "../app/confirm.ts";
import type { DraftChange } from "./draft.ts";
import type { DraftSaving } from "./draft-saving.ts";
import { type DroppedFile, findUploadProblem, readChosen, readDropped, toUploads } from "./dropped-files.ts";
import type { Naming } from "./file-tree.tsx";
import { findNameProblem, folderOf, listUnder, type TreeRow } from "./tree.ts";

export interface FileActions {
  readonly beginCreate: () => void;
  readonly beginRename: () => void;
  readonly create: (path: string) => void;
  readonly rename: (from: string, to: string, kind: TreeRow["kind"]) => void;
  readonly confirmDelete: (row: Pick<TreeRow, "path" | "kind">) => void;
  readonly drop: (items: DataTransferItemList, folder: string) => void;
  readonly upload: (files: FileList) => void;
}

/** What can be done with the files of a draft. */
export function useFileActions(desk: {
  readonly saving: DraftSaving;
  readonly open: string;
  readonly show: (path: string) => void;
  readonly setNaming: (naming: Naming | undefined) => void;
}): FileActions {
  const { saving, open, show, setNaming } = desk;
  const listPaths = (): string[] => [...saving.getState().files.keys()];

  const bringIn = async (found: Promise<DroppedFile[]> | DroppedFile[]): Promise<void> => {
    try {
      const files = await found;
      const problem = findUploadProblem(files) ?? findFirstProblem(files, listPaths());
      if (problem !== undefined) return complain(problem);
      saving.change(...(await toUploads(files)));
      if (files[0] !== undefined) show(files[0].path);
    } catch (error) {
      complain(`Reading the files failed: ${messageOf(error)}`);
    }
  };

  const remove = ({ path }: Pick<TreeRow, "path">): void => {
    saving.change(...listUnder(listPaths(), path).map((each): DraftChange => ({ path: each, delete: true })));
  };

  return {
    beginCreate: () => setNaming({ kind: "create", folder: folderOf({ path: open, kind: "file" }) }),
    beginRename: () => setNaming({ kind: "rename", path: open }),
    create(path) {
      setNaming(undefined);
      saving.change({ path, text: "" });
      show(path);
    },
    rename(from, to) {
      setNaming(undefined);
      const moves = listUnder(listPaths(), from).map((path) => ({ path, renameTo: `${to}${path.slice(from.length)}` }));
      saving.change(...moves);
      const moved = moves.find(({ path }) => path === open);
      if (moved !== undefined) show(moved.renameTo);
    },
    confirmDelete(row) {
      const files = listUnder(listPaths(), row.path);
      const count =
        row.kind === "folder" ? `The folder has ${files.length} ${files.length === 1 ? "file" : "files"}. ` : "";
      confirm({
        title: `Delete ${row.path}?`,
        text: `${count}It goes from your draft; commits keep what they have.`,
        yes: "Delete",
        act: () => remove(row),
      });
    },
    drop: (items, folder) => void bringIn(readDropped(items, folder)),
    upload: (files) => void bringIn(readChosen(files, folderOf({ path: open, kind: "file" }))),
  };
}

/**
 * Returns why one of the files cannot be a file of a workflow. A file of the same name is replaced, and is no problem.
 */
function findFirstProblem(files: readonly DroppedFile[], paths: readonly string[]): string | undefined {
  for (const { path } of files) {
    const problem = paths.includes(path) ? undefined : findNameProblem(path, paths);
    if (problem !== undefined) return `${path}: ${problem}`;
  }
  return undefined;
}

function complain(message: string): void {
  notifications.show({ color: "red", title: "Nothing was uploaded", message });
}
