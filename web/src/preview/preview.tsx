import { Button, Group, Loader, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { lazy, type ReactNode, Suspense, useEffect, useMemo, useState } from "react";
import { formatBytes } from "../../../domain/manifest/sizes.ts";
import { openApi } from "../app/api.ts";
import { DownloadIcon } from "../app/icons.tsx";
import { loadPart } from "../app/load-part.ts";
import { ErrorState } from "../app/states.tsx";
import { parseExactJson } from "./exact-json.ts";
import { HtmlPreview } from "./html-preview.tsx";
import { JsonTree } from "./json-tree.tsx";
import { isMarkup, type PreviewedFile, previewKind } from "./kinds.ts";
import classes from "./preview.module.css";
import { CsvPreview, JsonLinesPreview } from "./table.tsx";

// With libraries of their own, for files of their kind only.
const MarkdownPreview = lazy(() =>
  loadPart(() => import("./markdown.tsx")).then((loaded) => ({ default: loaded.MarkdownPreview })),
);
const NotebookPreview = lazy(() =>
  loadPart(() => import("./notebook-preview.tsx")).then((loaded) => ({ default: loaded.NotebookPreview })),
);
const ArchivePreview = lazy(() =>
  loadPart(() => import("./archive-preview.tsx")).then((loaded) => ({ default: loaded.ArchivePreview })),
);

const FileTable = lazy(() =>
  loadPart(() => import("./file-table.tsx")).then((loaded) => ({ default: loaded.FileTable })),
);

/** Of a text this much is fetched to be looked at. */
const TEXT_BYTES_MAX = 1_000_000;
/** It has its pictures in it, and is read as a whole. */
const NOTEBOOK_BYTES_MAX = 10_000_000;
const PDF_BYTES_MAX = 50_000_000;
/**
 * For viewers that listen: without pictures of all pages, for which there is no room, and without a bar. Its title would
 * be the random address of the copy that is shown.
 */
const PDF_VIEW = "#navpanes=0&toolbar=0";

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
    case "archive":
      return (
        <Suspense fallback={<Loader aria-label={`${file.fileName} is loading`} />}>
          <ArchivePreview file={file} />
        </Suspense>
      );
    case "parquet":
    case "workbook":
      return (
        <Suspense fallback={<Loader aria-label={`${file.fileName} is loading`} />}>
          <FileTable file={file} kind={kind} />
        </Suspense>
      );
    case "notebook":
      if (file.bytes > NOTEBOOK_BYTES_MAX)
        return <Unshown file={file}>This file is too large to be shown here.</Unshown>;
      return <TextualPreview file={file} bytesMax={NOTEBOOK_BYTES_MAX} />;
    case "text":
    case "json":
    case "lines":
    case "table":
    case "markdown":
      return <TextualPreview file={file} bytesMax={TEXT_BYTES_MAX} />;
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

function TextualPreview({ file, bytesMax }: { file: PreviewedFile; bytesMax: number }) {
  const cut = file.bytes > bytesMax;
  const content = useQuery({
    queryKey: ["files", file.path],
    queryFn: async ({ signal }) => {
      const headers: Record<string, string> = cut ? { range: `bytes=0-${bytesMax - 1}` } : {};
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
          The first {formatBytes(bytesMax)} of {formatBytes(file.bytes)}.
        </Text>
      )}
      {isMarkup(file.contentType, file.fileName) && (
        <Text size="sm" c="dimmed" mb="xs">
          Shown as its source: what programs make is never run in this page.
        </Text>
      )}
      <Suspense fallback={<Loader aria-label={`${file.fileName} is loading`} />}>
        <Textual file={file} text={content.data} cut={cut} />
      </Suspense>
    </>
  );
}

function Textual({ file, text, cut }: { file: PreviewedFile; text: string; cut: boolean }) {
  const kind = previewKind(file.contentType, file.fileName);
  const value = useMemo(() => (kind === "json" && !cut ? parseExactJson(text) : undefined), [kind, cut, text]);
  if (text === "") return <Text c="dimmed">The file is empty.</Text>;
  if (kind === "table") return <CsvPreview text={text} />;
  if (kind === "lines") return <JsonLinesPreview text={text} cut={cut} />;
  if (kind === "markdown") return <MarkdownPreview text={text} />;
  if (kind === "notebook") return <NotebookPreview text={text} />;
  if (value !== undefined) return <JsonTree value={value} />;
  const source = (
    <pre className={classes.text} tabIndex={0}>
      {text}
    </pre>
  );
  return file.contentType.startsWith("text/html") ? <HtmlPreview file={file}>{source}</HtmlPreview> : source;
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
