import { Loader, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useEffect, useMemo, useState } from "react";
import { formatSize } from "../../../domain/manifest/sizes.ts";
import { openApi } from "../app/api.ts";
import { ErrorState } from "../app/states.tsx";
import { parseExactJson } from "./exact-json.ts";
import { JsonTree } from "./json-tree.tsx";
import { isMarkup, previewKind } from "./kinds.ts";
import classes from "./preview.module.css";
import { TablePreview } from "./table.tsx";

/** Of a text this much is fetched to be looked at. */
const TEXT_BYTES_MAX = 1_000_000;
const PDF_BYTES_MAX = 50_000_000;

export interface PreviewedFile {
  readonly fileName: string;
  readonly contentType: string;
  readonly bytes: number;
  /** On this service, from `/` on. */
  readonly path: string;
}

/** A file, shown as what it is. Pages and drawings that could run something are shown as their source. */
export function Preview({ file }: { file: PreviewedFile }) {
  switch (previewKind(file.contentType, file.fileName)) {
    case "image":
      return <img className={classes.image} src={file.path} alt={file.fileName} />;
    case "audio":
      return <audio className={classes.sound} src={file.path} controls preload="metadata" aria-label={file.fileName} />;
    case "video":
      return <video className={classes.image} src={file.path} controls preload="metadata" aria-label={file.fileName} />;
    case "pdf":
      return <PdfPreview file={file} />;
    case "text":
    case "json":
    case "table":
      return <TextualPreview file={file} />;
    case "none":
      return <Text c="dimmed">There is no preview for this kind of file. Download it to open it.</Text>;
  }
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

/** Through an address of this page's own: as a file of the service it may not be framed. */
function PdfPreview({ file }: { file: PreviewedFile }) {
  const [address, setAddress] = useState<string>();
  const [error, setError] = useState<unknown>();
  const isLarge = file.bytes > PDF_BYTES_MAX;
  useEffect(() => {
    if (isLarge) return;
    const stopped = new AbortController();
    let made: string | undefined;
    openApi(file.path, { signal: stopped.signal })
      .then((response) => response.arrayBuffer())
      .then((content) => {
        // The type is ours to say: whatever is in the file, it is shown by the viewer for PDF or not at all.
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
  }, [file.path, isLarge]);
  if (isLarge) return <Text c="dimmed">This file is too large to be shown here. Download it to open it.</Text>;
  if (error !== undefined) return <ErrorState error={error} />;
  if (address === undefined) return <Loader aria-label={`${file.fileName} is loading`} />;
  return <iframe className={classes.pdf} src={address} title={file.fileName} />;
}
