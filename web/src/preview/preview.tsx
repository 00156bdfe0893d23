import { Button, Group, Loader, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useEffect, useMemo, useState } from "react";
import { formatSize } from "../../../domain/manifest/sizes.ts";
import { openApi } from "../app/api.ts";
import { DownloadIcon } from "../app/icons.tsx";
import { ErrorState } from "../app/states.tsx";
import { parseExactJson } from "./exact-json.ts";
import { JsonTree } from "./json-tree.tsx";
import { isMarkup, previewKind } from "./kinds.ts";
import classes from "./preview.module.css";
import { TablePreview } from "./table.tsx";

/** Of a text this much is fetched to be looked at. */
const TEXT_BYTES_MAX = 1_000_000;
const PDF_BYTES_MAX = 50_000_000;
/**
 * For viewers that listen: without pictures of all pages, for which there is no room, and without a bar. Its title would
 * be the random address of the copy that is shown.
 */
const PDF_VIEW = "#navpanes=0&toolbar=0";

export interface PreviewedFile {
  readonly fileName: string;
  readonly contentType: string;
  readonly bytes: number;
  /** On this service, from `/` on. */
  readonly path: string;
}

/** A file, shown as what it is. Pages and drawings that could run something are shown as their source. */
export function Preview({ file }: { file: PreviewedFile }) {
  const kind = previewKind(file.contentType, file.fileName);
  switch (kind) {
    case "image":
    case "audio":
    case "video":
      return <MediaPreview file={file} kind={kind} />;
    case "pdf":
      return <PdfPreview file={file} />;
    case "text":
    case "json":
    case "table":
      return <TextualPreview file={file} />;
    case "none":
      return <Unshown file={file}>There is no preview for this kind of file.</Unshown>;
  }
}

/** Instead of a preview: why there is none, and the file itself. */
function Unshown({ file, children }: { file: PreviewedFile; children: ReactNode }) {
  return (
    <Group gap="sm">
      <Text c="dimmed">{children}</Text>
      <Button component="a" href={file.path} download={file.fileName} variant="default" leftSection={<DownloadIcon />}>
        Download it
      </Button>
    </Group>
  );
}

/** What the browser shows by itself, when it can. */
function MediaPreview({ file, kind }: { file: PreviewedFile; kind: "image" | "audio" | "video" }) {
  const [failed, setFailed] = useState(false);
  const { fileName, path: src } = file;
  const onError = (): void => setFailed(true);
  if (failed) return <Unshown file={file}>This browser cannot {kind === "image" ? "show" : "play"} it.</Unshown>;
  if (kind === "image") return <img className={classes.image} src={src} alt={fileName} onError={onError} />;
  const shown = { src, controls: true, preload: "metadata", "aria-label": fileName, onError } as const;
  if (kind === "audio") return <audio className={classes.sound} {...shown} />;
  return <video className={classes.film} {...shown} />;
}

function TextualPreview({ file }: { file: PreviewedFile }) {
  const cut = file.bytes > TEXT_BYTES_MAX;
  const content = useQuery({
    queryKey: ["files", file.path],
    queryFn: async ({ signal }) => {
      const headers: Record<string, string> = cut ? { range: `bytes=0-${TEXT_BYTES_MAX - 1}` } : {};
      return file.bytes === 0 ? "" : (await openApi(file.path, { headers, signal })).text();
    },
    staleTime: Number.POSITIVE_INFINITY,
  });
  if (content.isPending) return <Loader aria-label={`${file.fileName} is loading`} />;
  if (content.isError) return <ErrorState error={content.error} onRetry={() => void content.refetch()} />;
  return (
    <>
      {cut && (
        <Text size="sm" c="dimmed" mb="xs">
          The first {formatSize(TEXT_BYTES_MAX)} of {formatSize(file.bytes)}.
        </Text>
      )}
      {isMarkup(file.contentType, file.fileName) && (
        <Text size="sm" c="dimmed" mb="xs">
          Shown as its source: what programs make is never run in this page.
        </Text>
      )}
      <Textual file={file} text={content.data} cut={cut} />
    </>
  );
}

function Textual({ file, text, cut }: { file: PreviewedFile; text: string; cut: boolean }) {
  const kind = previewKind(file.contentType, file.fileName);
  const value = useMemo(() => (kind === "json" && !cut ? parseExactJson(text) : undefined), [kind, cut, text]);
  if (text === "") return <Text c="dimmed">The file is empty.</Text>;
  if (kind === "table") return <TablePreview text={text} />;
  if (value !== undefined) return <JsonTree value={value} />;
  return (
    <pre className={classes.text} tabIndex={0}>
      {text}
    </pre>
  );
}

function PdfPreview({ file }: { file: PreviewedFile }) {
  // Without a viewer the frame would stay empty, or a download begin that nobody asked for.
  if (!navigator.pdfViewerEnabled) return <Unshown file={file}>This browser has no viewer for PDF.</Unshown>;
  if (file.bytes > PDF_BYTES_MAX) return <Unshown file={file}>This file is too large to be shown here.</Unshown>;
  return <FramedPdf file={file} />;
}

/** Through an address of this page's own: as a file of the service it may not be framed. */
function FramedPdf({ file }: { file: PreviewedFile }) {
  const [address, setAddress] = useState<string>();
  const [error, setError] = useState<unknown>();
  useEffect(() => {
    const stopped = new AbortController();
    let made: string | undefined;
    openApi(file.path, { signal: stopped.signal })
      .then((response) => response.arrayBuffer())
      .then((content) => {
        // The type is set here: the file is shown by the viewer for PDF or not at all.
        made = URL.createObjectURL(new Blob([content], { type: "application/pdf" }));
        setAddress(made);
      })
      .catch((thrown: unknown) => {
        if (!stopped.signal.aborted) setError(thrown);
      });
    return () => {
      stopped.abort();
      if (made !== undefined) URL.revokeObjectURL(made);
    };
  }, [file.path]);
  if (error !== undefined) return <ErrorState error={error} />;
  if (address === undefined) return <Loader aria-label={`${file.fileName} is loading`} />;
  return <iframe className={classes.pdf} src={`${address}${PDF_VIEW}`} title={file.fileName} />;
}
