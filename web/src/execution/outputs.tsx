import { ActionIcon, Button, Group, Text, Title, UnstyledButton } from "@mantine/core";
import { useState } from "react";
import { formatBytes } from "../../../domain/manifest/sizes.ts";
import { Hint } from "../app/hint.tsx";
import { ChevronDownIcon, ChevronRightIcon, DownloadIcon } from "../app/icons.tsx";
import { useMayChange } from "../app/session.ts";
import { previewKind } from "../preview/kinds.ts";
import { Preview } from "../preview/preview.tsx";
import { CopyLinkButton } from "./copy-link-button.tsx";
import type { Execution, OutputFile } from "./execution.ts";
import classes from "./outputs.module.css";

/** So much is shown without being asked for; larger files open on a click. */
const OPEN_BYTES_MAX = 100_000;
const OPEN_FILES_MAX = 6;
/** Of a larger picture there is no small one: all of it would be fetched. */
const THUMBNAIL_BYTES_MAX = 2_000_000;

/** The files that came out, in the order in which config.yaml declares them. The small ones that can be shown are open. */
export function Outputs({ execution }: { execution: Execution }) {
  const { files, executionId, filesRemovedAt } = execution;
  const open = chooseOpen(files);
  return (
    <section>
      <Group justify="space-between" mb="xs" mih={30}>
        <Title order={2}>Outputs</Title>
        {files.length > 1 && (
          <Button
            component="a"
            href={`/api/run-logs/${executionId}/files`}
            download={`${executionId}.zip`}
            variant="default"
            size="xs"
            leftSection={<DownloadIcon />}
          >
            Download all
          </Button>
        )}
      </Group>
      {files.length === 0 && (
        <Text c="dimmed">{filesRemovedAt == null ? "No outputs." : "Its files are no longer kept."}</Text>
      )}
      <div className={classes.files}>
        {files.map((file) => (
          <Output
            key={file.fileName}
            file={file}
            path={`/api/run-logs/${executionId}/files/${encodeURIComponent(file.fileName)}`}
            opens={open.has(file)}
          />
        ))}
      </div>
    </section>
  );
}

/** The first that can be shown, and all small ones beside it. */
function chooseOpen(files: readonly OutputFile[]): ReadonlySet<OutputFile> {
  const shown = files.filter(({ contentType, fileName }) => previewKind(contentType, fileName) !== "none");
  return new Set(shown.filter(({ bytes }, at) => at === 0 || bytes <= OPEN_BYTES_MAX).slice(0, OPEN_FILES_MAX));
}

function Output({ file, path, opens }: { file: OutputFile; path: string; opens: boolean }) {
  const [open, setOpen] = useState(opens);
  const { name, fileName, bytes, contentType } = file;
  const mayShare = useMayChange();
  return (
    <div className={classes.file}>
      <div className={classes.head}>
        <UnstyledButton className={classes.name} aria-expanded={open} onClick={() => setOpen(!open)}>
          {open ? <ChevronDownIcon /> : <ChevronRightIcon />}
          <span>{name}</span>
          <Text span size="sm" c="dimmed" className={classes.fileName}>
            {fileName} · {formatBytes(bytes)}
          </Text>
        </UnstyledButton>
        {!open && <Thumbnail file={file} path={path} />}
        {mayShare && <CopyLinkButton path={path} fileName={fileName} />}
        <Hint label="Download">
          <ActionIcon component="a" href={path} download={fileName} aria-label={`Download ${fileName}`}>
            <DownloadIcon />
          </ActionIcon>
        </Hint>
      </div>
      {open && (
        <div className={classes.preview} role="region" aria-label={fileName}>
          <Preview file={{ fileName, contentType, bytes, path }} />
        </div>
      )}
    </div>
  );
}

/** A picture while it is closed. Its name stands beside it. */
function Thumbnail({ file: { fileName, contentType, bytes }, path }: { file: OutputFile; path: string }) {
  const [failed, setFailed] = useState(false);
  if (failed || bytes > THUMBNAIL_BYTES_MAX || previewKind(contentType, fileName) !== "image") return null;
  return <img className={classes.thumbnail} src={path} alt="" loading="lazy" onError={() => setFailed(true)} />;
}
