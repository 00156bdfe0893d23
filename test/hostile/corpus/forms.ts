import { anExecuteRequest, type Entry } from "../requests.ts";

const TYPE = "multipart/form-data; boundary=b";
export const NOTE = 'Content-Disposition: form-data; name="note"\r\n\r\nhello';
export const FILE =
  'Content-Disposition: form-data; name="orders"; filename="a.csv"\r\nContent-Type: text/csv\r\n\r\na,b';

/** A whole form of these parts; text is Latin-1, so that any byte can be written down. */
export function aFormOf(parts: readonly string[], boundary = "b"): Buffer {
  return Buffer.from(`${parts.map((part) => `--${boundary}\r\n${part}\r\n`).join("")}--${boundary}--\r\n`, "latin1");
}

/** An entry that sends this as the body of a form. */
export const form = (
  name: string,
  body: Buffer | string,
  statuses: readonly number[] = [400],
  more: { type?: string; says?: RegExp } = {},
): Entry => ({
  name,
  send: (target) =>
    anExecuteRequest(target, {
      body: typeof body === "string" ? Buffer.from(body, "latin1") : body,
      type: more.type ?? TYPE,
    }),
  statuses,
  ...(more.says === undefined ? {} : { says: more.says }),
});

export const part = (name: string, text: string, statuses: readonly number[] = [400], says?: RegExp): Entry =>
  form(name, aFormOf([text]), statuses, says === undefined ? {} : { says });

export const good = aFormOf([NOTE]);

const boundaries: readonly Entry[] = [
  form("no boundary", good, [400], { type: "multipart/form-data" }),
  form("an empty boundary", good, [400], { type: "multipart/form-data; boundary=" }),
  form("an empty boundary in quotes", aFormOf([NOTE], ""), [200, 400], { type: 'multipart/form-data; boundary=""' }),
  form("a boundary in quotes that do not end", good, [400], { type: 'multipart/form-data; boundary="b' }),
  form("two boundaries", good, [200, 400], { type: "multipart/form-data; boundary=b; boundary=c" }),
  form("two boundaries, the other one first", good, [200, 400], {
    type: "multipart/form-data; boundary=c; boundary=b",
  }),
  form("another boundary", good, [400], { type: "multipart/form-data; boundary=other" }),
  form("a boundary of 70 letters", aFormOf([NOTE], "b".repeat(70)), [200], {
    type: `multipart/form-data; boundary=${"b".repeat(70)}`,
  }),
  form("a boundary of 300 letters", aFormOf([NOTE], "b".repeat(300)), [200, 400], {
    type: `multipart/form-data; boundary=${"b".repeat(300)}`,
  }),
  form("a boundary of 10,000 letters", aFormOf([NOTE], "b".repeat(10_000)), [200, 400], {
    type: `multipart/form-data; boundary=${"b".repeat(10_000)}`,
  }),
  form("a boundary of dashes", aFormOf([NOTE], "--"), [200, 400], { type: "multipart/form-data; boundary=--" }),
  form("a boundary of one dash", aFormOf([NOTE], "-"), [200, 400], { type: "multipart/form-data; boundary=-" }),
  form("a boundary with a line break", good, [400], { type: 'multipart/form-data; boundary="a\tb"' }),
  form("a boundary of bytes above 127", aFormOf([NOTE], "\xff\xfe"), [200, 400], {
    type: 'multipart/form-data; boundary="\xff\xfe"',
  }),
  form("a boundary in another case", aFormOf([NOTE], "B"), [400]),
  form("a boundary called __proto__", aFormOf([NOTE], "__proto__"), [200], {
    type: "multipart/form-data; boundary=__proto__",
  }),
  form("a boundary as an extended parameter", good, [200, 400], { type: "multipart/form-data; boundary*=utf-8''b" }),
  form("a boundary in an unknown charset", good, [400], { type: "multipart/form-data; boundary*=utf-7''b" }),
  form("a type in capitals", good, [200], { type: "MULTIPART/FORM-DATA; BOUNDARY=b" }),
  form("3,000 parameters", good, [200, 400], { type: `${TYPE}${"; a=b".repeat(2_500)}` }),
];

export const text = good.toString("latin1");
const ends: readonly Entry[] = [
  form("nothing", ""),
  form("nothing but the end", "--b--\r\n", [200, 400]),
  form("nothing but the beginning", "--b\r\n"),
  form("nothing but line breaks", "\r\n".repeat(1_000)),
  form("nothing but dashes", "-".repeat(100_000)),
  form("no final boundary", text.slice(0, text.lastIndexOf("--b--"))),
  form("a final boundary without its dashes", text.replace("--b--", "--b")),
  form("a final boundary with one dash", text.replace("--b--", "--b-")),
  form("an end in the headers", text.slice(0, 30)),
  form("an end after a header", text.slice(0, text.indexOf("\r\n\r\n") + 2)),
  form("an end in a file", aFormOf([FILE]).subarray(0, -10)),
  form("an end in the second file", aFormOf([FILE, FILE.replace("orders", "extras")]).subarray(0, -8)),
  form("text before it", `hello\r\n${text}`, [200]),
  form("100,000 bytes before it", `${"x".repeat(100_000)}\r\n${text}`, [200]),
  form("100,000 bytes after it", `${text}${"x".repeat(100_000)}`, [200]),
  form("a second form after it", text + text, [200]),
  form("line feeds alone", text.replaceAll("\r\n", "\n")),
  form("a boundary that does not begin a line", text.replace("\r\n--b--", "--b--")),
  form("spaces after a boundary", text.replace("--b\r\n", "--b  \r\n"), [200, 400]),
  form("a boundary that goes on", text.replace("--b\r\n", "--bb\r\n"), [200, 400]),
  form("JSON for a form", "{}"),
];

const heads: readonly Entry[] = [
  part("no headers", "\r\nhello", [200, 400]),
  part("no disposition", "Content-Type: text/plain\r\n\r\nhello", [200, 400]),
  part("a disposition of another kind", 'Content-Disposition: attachment; name="note"\r\n\r\nhello', [200, 400]),
  part("an empty disposition", "Content-Disposition:\r\n\r\nhello", [200, 400]),
  part("a disposition of nonsense", "Content-Disposition: ;;;=\r\n\r\nhello", [200, 400]),
  part("no name", "Content-Disposition: form-data\r\n\r\nhello"),
  part("an empty name", 'Content-Disposition: form-data; name=""\r\n\r\nhello'),
  part("two names", 'Content-Disposition: form-data; name="note"; name="flag"\r\n\r\nhello', [200, 400]),
  part(
    "two dispositions",
    `Content-Disposition: form-data; name="note"\r\n${NOTE.replace("note", "flag")}`,
    [200, 400],
  ),
  part("a name that does not end", 'Content-Disposition: form-data; name="note\r\n\r\nhello', [200, 400]),
  part("a name with a NUL", 'Content-Disposition: form-data; name="no\0te"\r\n\r\nhello'),
  part("a name with an encoded NUL", "Content-Disposition: form-data; name*=utf-8''no%00te\r\n\r\nhello"),
  part("a name in an unknown charset", "Content-Disposition: form-data; name*=utf-7''note\r\n\r\nhello", [200, 400]),
  part("a name of half an escape", "Content-Disposition: form-data; name*=utf-8''no%0\r\n\r\nhello", [200, 400]),
  part("a name called __proto__", 'Content-Disposition: form-data; name="__proto__"\r\n\r\n{"a":1}'),
  part("a name called constructor", 'Content-Disposition: form-data; name="constructor"\r\n\r\n{"a":1}'),
  part("a name with brackets", 'Content-Disposition: form-data; name="data[a][b]"\r\n\r\n1'),
  part("a name of 10,000 letters", `Content-Disposition: form-data; name="${"n".repeat(10_000)}"\r\n\r\n1`),
  part("a name of bytes that are no UTF-8", 'Content-Disposition: form-data; name="\xff\xfe"\r\n\r\n1'),
  part(
    "a parameter called __proto__",
    'Content-Disposition: form-data; __proto__="x"; name="note"\r\n\r\nhello',
    [200, 400],
  ),
  part("a header without a colon", `nonsense\r\n${NOTE}`),
  part("a header without a name", `: x\r\n${NOTE}`),
  part("a header with a NUL", `X-Test: a\0b\r\n${NOTE}`),
  part("a header called __proto__", `__proto__: x\r\n${NOTE}`, [200]),
  part("a folded header", 'Content-Disposition: form-data;\r\n name="note"\r\n\r\nhello', [200]),
  part("headers of 17,000 bytes", `X-Test: ${"a".repeat(17_000)}\r\n${NOTE}`),
  part("headers of 1 MB", `X-Test: ${"a".repeat(1_000_000)}\r\n${NOTE}`),
  part("1,500 headers", `${"X: 1\r\n".repeat(1_500)}${NOTE}`, [200]),
  part("3,000 headers", `${"X: 1\r\n".repeat(3_000)}${NOTE}`),
];

const anUpload = (name: string, count: number, statuses: readonly number[]): Entry =>
  form(
    name,
    aFormOf(
      Array.from(
        { length: count },
        (_, index) => `Content-Disposition: form-data; name="extras"; filename="${index}.txt"\r\n\r\nx`,
      ),
    ),
    statuses,
  );

const files: readonly Entry[] = [
  form("two files for one", aFormOf([FILE, FILE])),
  form("a file for a text", aFormOf([FILE.replace("orders", "note")])),
  form("a file for nobody", aFormOf([FILE.replace("orders", "nobody")])),
  form("a good file and a file for nobody", aFormOf([FILE, FILE.replace("orders", "nobody")])),
  form("a good file and a wrong text", aFormOf([FILE, NOTE.replace("note", "count")])),
  anUpload("100 files", 100, [200]),
  anUpload("101 files", 101, [400]),
  anUpload("5,000 files", 5_000, [400]),
  form("a file over its input's limit", aFormOf([`${FILE}${"x".repeat(1_000_000)}`]), [413]),
  form(
    "a file over the service's limit",
    aFormOf([`${FILE.replace("orders", "extras")}${"x".repeat(2_000_001)}`]),
    [413],
  ),
  form(
    "a request over its limit",
    aFormOf(Array.from({ length: 4 }, () => `${FILE.replace("orders", "extras")}${"x".repeat(1_600_000)}`)),
    [413],
  ),
  {
    name: "a form with a length over its limit",
    send: (target) => [anExecuteRequest(target, { type: TYPE, length: "6000001" })],
    statuses: [413],
  },
  part(
    "a field in which no file was chosen",
    'Content-Disposition: form-data; name="orders"; filename=""\r\nContent-Type: application/octet-stream\r\n\r\n',
    [200],
  ),
  part(
    "a file without a name, with content",
    'Content-Disposition: form-data; name="orders"\r\nContent-Type: application/octet-stream\r\n\r\nabc',
    [200],
  ),
  form(
    "a hundred fields in which no file was chosen",
    aFormOf(
      Array.from(
        { length: 100 },
        () =>
          'Content-Disposition: form-data; name="extras"; filename=""\r\nContent-Type: application/octet-stream\r\n\r\n',
      ),
    ),
    [200],
  ),
  part("a file whose content is the boundary, almost", `${FILE}\r\n--\r\n--B--\r\n-- b`, [200]),
  part("a media type of nonsense", FILE.replace("text/csv", "'; drop table x; --"), [200]),
  part("a media type of markup", FILE.replace("text/csv", "text/html<script>"), [200]),
  part("a media type of 10,000 letters", FILE.replace("text/csv", `text/${"x".repeat(10_000)}`), [200]),
  part("a media type with a NUL", FILE.replace("text/csv", "text/\0csv"), [400]),
];

export const FORM_ENTRIES: readonly Entry[] = [...boundaries, ...ends, ...heads, ...files];
