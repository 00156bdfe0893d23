import { Button, Text } from "@mantine/core";
import { useMemo, useState } from "react";
import { parseCsv } from "./csv.ts";
import classes from "./preview.module.css";

const ROWS_AT_ONCE = 200;

/** A CSV text as a table, its first row as the heads of the columns. */
export function TablePreview({ text }: { text: string }) {
  const [shown, setShown] = useState(ROWS_AT_ONCE);
  const { rows, more } = useMemo(() => parseCsv(text, shown + 1), [text, shown]);
  const [head = [], ...body] = rows;
  const numeric = useMemo(() => head.map((_, column) => isNumeric(rows, column)), [rows, head]);
  return (
    <>
      <div className={classes.scroll} tabIndex={0} role="region" aria-label="Table">
        <table className={classes.table}>
          <thead>
            <tr>
              {head.map((cell, column) => (
                <th key={column} scope="col" data-numeric={numeric[column] || undefined}>
                  {cell}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {body.map((row, index) => (
              <tr key={index}>
                {row.map((cell, column) => (
                  <td key={column} data-numeric={numeric[column] || undefined}>
                    {cell}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {body.length === 0 && <Text c="dimmed">The table has no rows.</Text>}
      {more && (
        <Button variant="default" mt="xs" onClick={() => setShown(shown + ROWS_AT_ONCE)}>
          Show more rows
        </Button>
      )}
    </>
  );
}

function isNumeric(rows: readonly (readonly string[])[], column: number): boolean {
  const cells = rows.slice(1, 50).map((row) => row[column] ?? "");
  return cells.some((cell) => cell !== "") && cells.every((cell) => /^[-+]?[\d.,\s]*%?$/.test(cell));
}
