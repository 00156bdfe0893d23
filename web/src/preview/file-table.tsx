import { Loader, NativeSelect, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { PreviewedFile } from "./kinds.ts";
import { DataTable } from "./table.tsx";
import type { ReadTable } from "./table-bounds.ts";
import { readTable } from "./table-file.ts";

const NAMES = { parquet: "Parquet file", workbook: "workbook" };

/** The first rows of a Parquet file, or of a sheet of a workbook. */
export function FileTable({ file, kind }: { file: PreviewedFile; kind: "parquet" | "workbook" }) {
  const [sheet, setSheet] = useState(0);
  const [sheets, setSheets] = useState<readonly string[]>([]);
  const read = useQuery({
    queryKey: ["files", file.path, "table", sheet],
    async queryFn({ signal }) {
      const table = await readTable(file, { kind, sheet }, signal);
      setSheets(table.sheets);
      return table;
    },
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  });
  return (
    <>
      {sheets.length > 1 && (
        <NativeSelect
          size="xs"
          mb="xs"
          w={240}
          aria-label="Sheet"
          data={sheets.map((label, at) => ({ value: String(at), label }))}
          value={String(sheet)}
          onChange={(event) => setSheet(Number(event.currentTarget.value))}
        />
      )}
      {read.isPending && <Loader aria-label={`${file.fileName} is loading`} />}
      {read.isError && <Text c="dimmed">This {NAMES[kind]} cannot be shown. Download it instead.</Text>}
      {read.data !== undefined && <Shown table={read.data} />}
    </>
  );
}

function Shown({ table }: { table: ReadTable }) {
  const { head, body, rows, cut } = table;
  if (head.length === 0) return <Text c="dimmed">The table is empty.</Text>;
  const count = body.length.toLocaleString("en");
  return (
    <>
      {cut && (
        <Text size="sm" c="dimmed" mb="xs" className="number">
          The first {count} {rows === null ? "rows" : `of ${rows.toLocaleString("en")} rows`}, and up to {head.length}{" "}
          columns.
        </Text>
      )}
      <DataTable key={head.join("\n")} head={head} body={body} />
    </>
  );
}
