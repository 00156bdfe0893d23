import { ActionIcon, Text, Title, Tooltip, UnstyledButton } from "@mantine/core";
import { useState } from "react";
import { formatSize } from "../../../domain/manifest/sizes.ts";
import { ChevronDownIcon, ChevronRightIcon, DownloadIcon } from "../app/icons.tsx";
import { previewKind } from "../preview/kinds.ts";
import { Preview } from "../preview/preview.tsx";
import type { Execution, OutputFile } from "./execution.ts";
import classes from "./outputs.module.css";

/** The files that came out, each to be looked at and downloaded. The first that can be shown is open. */
export function Outputs({ execution }: { execution: Execution }) {
  const { files, executionId, filesRemovedAt } = execution;
  const first = files.find(({ contentType, fileName }) => previewKind(contentType, fileName) !== "none");
  return (
    <section>
      <Title order={2} mb="xs">
        Outputs
      </Title>
      {files.length === 0 && (
        <Text c="dimmed">{filesRemovedAt == null ? "Nothing came out of it." : "Its files are no longer kept."}</Text>
      )}
      <div className={classes.files}>
        {files.map((file) => (
          <Output
            key={file.fileName}
            file={file}
            path={`/api/run-logs/${executionId}/files/${encodeURIComponent(file.fileName)}`}
            opens={file === first}
          />
        ))}
      </div>
    </section>
  );
}

function Output({ file, path, opens }: { file: OutputFile; path: string; opens: boolean }) {
  const [open, setOpen] = useState(opens);
  const { name, fileName, bytes, contentType } = file;
  return (
    <div className={classes.file}>
      <div className={classes.head}>
        <UnstyledButton className={classes.name} aria-expanded={open} onClick={() => setOpen(!open)}>
          {open ? <ChevronDownIcon /> : <ChevronRightIcon />}
          <span>{name}</span>
          <Text span size="sm" c="dimmed" className={classes.fileName}>
            {fileName} · {formatSize(bytes)}
          </Text>
        </UnstyledButton>
        <Tooltip label="Download">
          <ActionIcon component="a" href={path} download={fileName} aria-label={`Download ${fileName}`}>
            <DownloadIcon />
          </ActionIcon>
        </Tooltip>
      </div>
      {open && (
        <div className={classes.preview} role="region" aria-label={fileName}>
          <Preview file={{ fileName, contentType, bytes, path }} />
        </div>
      )}
    </div>
  );
}
