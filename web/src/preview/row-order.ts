/** By which column rows stand, and which way. */
export interface RowOrder {
  readonly column: number;
  readonly direction: "ascending" | "descending";
}

const words = new Intl.Collator("en", { numeric: true });

/**
 * Returns the rows that have a text in one of their cells, in an order; as they came without one. Numbers go by their size, and
 * empty cells come last both ways.
 */
export function arrangeRows(
  rows: readonly (readonly string[])[],
  found: string,
  order: RowOrder | undefined,
): readonly (readonly string[])[] {
  const wanted = found.trim().toLowerCase();
  const kept = wanted === "" ? rows : rows.filter((row) => row.some((cell) => cell.toLowerCase().includes(wanted)));
  if (order === undefined) return kept;
  const { column, direction } = order;
  const way = direction === "ascending" ? 1 : -1;
  const keyed = kept.map((row) => {
    const text = (row[column] ?? "").trim();
    return { row, text, number: text === "" ? Number.NaN : Number(text) };
  });
  keyed.sort((a, b) => {
    if (a.text === "" || b.text === "") return Number(a.text === "") - Number(b.text === "");
    const byNumber = a.number - b.number;
    return way * (Number.isNaN(byNumber) || byNumber === 0 ? words.compare(a.text, b.text) : byNumber);
  });
  return keyed.map(({ row }) => row);
}
