const SEPARATORS = [",", ";", "\t", "|"];

/** The rows of a CSV text, as RFC 4180 writes them: quoted fields may hold separators, quotes and line breaks. */
export function parseCsv(
  text: string,
  rowsMax: number,
): { readonly rows: readonly (readonly string[])[]; readonly more: boolean } {
  const separator = findSeparator(text);
  const rows: string[][] = [];
  let row: string[] = [];
  let at = text.startsWith("\ufeff") ? 1 : 0;
  while (at < text.length) {
    const field = readField(text, at, separator);
    row.push(field.value);
    at = field.end;
    if (text[at] === separator) {
      at += 1;
      if (at < text.length) continue;
      row.push("");
    }
    rows.push(row);
    row = [];
    at += text.startsWith("\r\n", at) ? 2 : 1;
    if (rows.length >= rowsMax) return { rows, more: at < text.length };
  }
  return { rows, more: false };
}

function readField(text: string, from: number, separator: string): { value: string; end: number } {
  if (text[from] !== '"') {
    let end = from;
    while (end < text.length && text[end] !== separator && text[end] !== "\n" && !text.startsWith("\r\n", end))
      end += 1;
    return { value: text.slice(from, end), end };
  }
  let value = "";
  let at = from + 1;
  for (;;) {
    const quote = text.indexOf('"', at);
    if (quote === -1) return { value: value + text.slice(at), end: text.length };
    value += text.slice(at, quote);
    at = quote + 1;
    if (text[at] !== '"') break;
    value += '"';
    at += 1;
  }
  // What follows the closing quote belongs to the field, wrong as it is.
  const rest = readField(text, at, separator);
  return { value: value + rest.value, end: rest.end };
}

/** The separator that the first line has most of, outside of quotes. */
function findSeparator(text: string): string {
  const [line = ""] = text.replaceAll(/"[^"]*"/g, "").split("\n", 1);
  const counts = SEPARATORS.map((separator) => ({ separator, count: line.split(separator).length }));
  return counts.reduce((best, each) => (each.count > best.count ? each : best)).separator;
}
