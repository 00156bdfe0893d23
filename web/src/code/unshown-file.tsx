import { Button } from "@mantine/core";
import { formatBytes } from "../../../domain/manifest/sizes.ts";
import { DownloadIcon } from "../app/icons.tsx";
import { EmptyState } from "../app/states.tsx";
import type { DraftFile } from "./draft.ts";
import { draftPath } from "./drafts.ts";

/** In place of a text that is none, or is too long to be edited here. */
export function UnshownFile({ workflowId, file }: { workflowId: string; file: DraftFile }) {
  return (
    <EmptyState
      title="This file is not shown"
      action={
        <Button
          component="a"
          variant="default"
          leftSection={<DownloadIcon />}
          href={`${draftPath(workflowId)}/files/${encodeURIComponent(file.path)}`}
          download
        >
          Download
        </Button>
      }
    >
      It has {formatBytes(file.bytes)} and is no text, or more of it than can be edited here. Upload a file of the same
      name to replace it.
    </EmptyState>
  );
}
