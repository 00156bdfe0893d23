import { Loader, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { type Entry, ZipReader } from "@zip.js/zip.js/lib/zip-core-reader.js";
import { formatBytes } from "../../../domain/manifest/sizes.ts";
import { openApi } from "../app/api.ts";
import { toShort } from "../app/time-text.ts";
import type { PreviewedFile } from "./kinds.ts";
import classes from "./preview.module.css";

const ENTRIES_MAX = 500;
/** Of the list at the end of an archive. One of a hundred thousand files is as long. */
const READ_BYTES_MAX = 10_000_000;

/** What is in a zip. Only the list at its end is fetched; nothing is unpacked. */
export function ArchivePreview({ file }: { file: PreviewedFile }) {
  const listed = useQuery({
    queryKey: ["files", file.path, "entries"],
    queryFn: ({ signal }) => listEntries(file, signal),
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  });
  if (listed.isPending) return <Loader aria-label={`${file.fileName} is loading`} />;
  if (listed.isError) return <Text c="dimmed">This is no zip that can be listed. Download it instead.</Text>;
  const { entries, more } = listed.data;
  return (
    <>
      <div className={classes.scroll} tabIndex={0} role="region" aria-label="Files in the zip">
        <table className={classes.table}>
          <thead>
            <tr>
              <th scope="col">Name</th>
              <th scope="col" data-numeric>
                Size
              </th>
              <th scope="col">Changed</th>
            </tr>
          </thead>
          <tbody>
            {entries.map(({ filename, uncompressedSize, lastModDate, directory }, at) => (
              <tr key={at}>
                <td>{filename}</td>
                <td data-numeric>{directory ? "" : formatBytes(uncompressedSize)}</td>
                <td>{Number.isNaN(lastModDate.getTime()) ? "" : toShort(lastModDate)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {entries.length === 0 && <Text c="dimmed">The zip is empty.</Text>}
      {more && <Text c="dimmed">The first {ENTRIES_MAX} files. Download the zip to see all.</Text>}
    </>
  );
}

/** Lists names as they are: they lead nowhere, as nothing is unpacked. */
async function listEntries(file: PreviewedFile, signal: AbortSignal): Promise<{ entries: Entry[]; more: boolean }> {
  const zip = new ZipReader(readByRange(file, signal), { filenameValidation: "tolerant" });
  const entries: Entry[] = [];
  for await (const entry of zip.getEntriesGenerator()) {
    if (entries.length === ENTRIES_MAX) return { entries, more: true };
    entries.push(entry);
  }
  return { entries, more: false };
}

/** As the library reads: a part of the file at a time. */
function readByRange({ path, bytes }: PreviewedFile, signal: AbortSignal) {
  return {
    // Its types want one. It is for files that come in one piece.
    readable: new ReadableStream(),
    size: bytes,
    async readUint8Array(from: number, length: number): Promise<Uint8Array> {
      if (length > READ_BYTES_MAX) throw new Error("The list of this zip is too long to be shown.");
      if (length === 0) return new Uint8Array();
      const headers = { range: `bytes=${from}-${Math.min(from + length, bytes) - 1}` };
      const answer = await openApi(path, { headers, signal });
      return new Uint8Array(await answer.arrayBuffer());
    },
  };
}
