/** What an uncompressed page of a PDF shows, as far as the tests of the examples need it. */
export interface PageContent {
  readonly texts: readonly string[];
  /** Heights of the filled rectangles of each width, in the order they were drawn; widths are rounded to tenths of a point. */
  readonly heightsByWidth: ReadonlyMap<number, readonly number[]>;
}

/** Reads the operators `Tj` (show text) and `re f` (fill a rectangle) of ISO 32000-1, 8.5.2 and 9.4.3. */
export function readPage(pdf: string): PageContent {
  const texts = [...pdf.matchAll(/\(((?:\\.|[^\\()])*)\) Tj/g)].map(([, text = ""]) =>
    text.replace(/\\([\\()])/g, "$1"),
  );
  const heightsByWidth = new Map<number, number[]>();
  for (const [, width = "", height = ""] of pdf.matchAll(/^n \S+ \S+ (\S+) (\S+) re f\*?/gm)) {
    const rounded = Math.round(Number(width) * 10) / 10;
    heightsByWidth.set(rounded, [...(heightsByWidth.get(rounded) ?? []), Number(height)]);
  }
  return { texts, heightsByWidth };
}
