import { Button, Group, Text, TextInput, UnstyledButton } from "@mantine/core";
import { useMemo, useState } from "react";
import { ArrowDownIcon, ArrowUpIcon, SearchIcon } from "../app/icons.tsx";
import { parseCsv } from "./csv.ts";
import { type Rows, readJsonLines } from "./lines.ts";
import classes from "./preview.module.css";
import { arrangeRows, type RowOrder } from "./row-order.ts";

const ROWS_AT_ONCE = 200;
/** Fewer are seen at a glance. */
const SEARCHED_FROM = 6;

/** A CSV text as a table, its first row as the heads of the columns. */
export function CsvPreview({ text }: { text: string }) {
  const { head, body } = useMemo(() => {
    const [first = [], ...rest] = parseCsv(text, Number.POSITIVE_INFINITY).rows;
    return { head: first, body: rest };
  }, [text]);
  return <DataTable head={head} body={body} />;
}

/** Lines of JSON as a table; as they are where one of them is none. The last line of a part may be cut off, and is left out. */
export function JsonLinesPreview({ text, cut }: { text: string; cut: boolean }) {
  const rows = useMemo(() => readJsonLines(cut ? text.slice(0, text.lastIndexOf("\n") + 1) : text), [text, cut]);
  if (rows !== undefined) return <DataTable {...rows} />;
  return (
    <pre className={classes.text} tabIndex={0}>
      {text}
    </pre>
  );
}

/** Rows that can be searched, and sorted by a column. */
export function DataTable({ head, body }: Rows) {
  const [shown, setShown] = useState(ROWS_AT_ONCE);
  const [found, setFound] = useState("");
  const [order, setOrder] = useState<RowOrder>();
  const rows = useMemo(() => arrangeRows(body, found, order), [body, found, order]);
  const numeric = useMemo(() => head.map((_, column) => isNumeric(body, column)), [body, head]);
  return (
    <>
      {body.length >= SEARCHED_FROM && (
        <Group gap="sm" mb="xs">
          <TextInput
            size="xs"
            type="search"
            aria-label="Filter rows"
            placeholder="Filter rows"
            leftSection={<SearchIcon />}
            value={found}
            onChange={(event) => setFound(event.currentTarget.value)}
          />
          <Text size="sm" c="dimmed" className="number" role="status">
            {found.trim() === "" ? countRows(body.length) : `${countRows(rows.length)} of ${body.length}`}
          </Text>
        </Group>
      )}
      <div className={classes.scroll} tabIndex={0} role="region" aria-label="Table">
        <table className={classes.table}>
          <thead>
            <tr>
              {head.map((cell, column) => (
                <Head
                  key={column}
                  words={cell}
                  isNumeric={numeric[column] ?? false}
                  direction={order?.column === column ? order.direction : undefined}
                  onSort={() => setOrder(turn(order, column))}
                />
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, shown).map((row, index) => (
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
      {rows.length > shown && (
        <Button variant="default" mt="xs" onClick={() => setShown(shown + ROWS_AT_ONCE)}>
          Show more rows
        </Button>
      )}
    </>
  );
}

function Head(props: {
  readonly words: string;
  readonly isNumeric: boolean;
  readonly direction: RowOrder["direction"] | undefined;
  readonly onSort: () => void;
}) {
  const { words, isNumeric: number, direction, onSort } = props;
  return (
    <th scope="col" data-numeric={number || undefined} {...(direction === undefined ? {} : { "aria-sort": direction })}>
      <UnstyledButton className={classes.sort} onClick={onSort} title="Sort by this column">
        {words === "" ? "(no name)" : words}
        {direction === "ascending" && <ArrowUpIcon />}
        {direction === "descending" && <ArrowDownIcon />}
      </UnstyledButton>
    </th>
  );
}

/** Up, down, and then as the rows came. */
function turn(order: RowOrder | undefined, column: number): RowOrder | undefined {
  if (order?.column !== column) return { column, direction: "ascending" };
  return order.direction === "ascending" ? { column, direction: "descending" } : undefined;
}

function countRows(count: number): string {
  return count === 1 ? "1 row" : `${count.toLocaleString("en")} rows`;
}

function isNumeric(rows: readonly (readonly string[])[], column: number): boolean {
  const cells = rows.slice(0, 49).map((row) => row[column] ?? "");
  return cells.some((cell) => cell !== "") && cells.every((cell) => /^[-+]?[\d.,\s]*%?$/.test(cell));
}
