import type { Entry } from "../requests.ts";
import { aFormOf, FILE, form, NOTE, part, text } from "./forms.ts";

const charsets = [
  "utf-7",
  "x-evil",
  "",
  "__proto__",
  "utf-16le",
  "utf-32",
  "base64",
  "iso-2022-jp",
  "a".repeat(5_000),
].map((charset) =>
  part(
    `a text in ${JSON.stringify(charset.slice(0, 20))}`,
    `Content-Disposition: form-data; name="note"\r\nContent-Type: text/plain; charset=${charset}\r\n\r\nhello`,
    [200, 400],
  ),
);

/** A value as browsers send it: like a file. */
const blob = (name: string, content: string): string =>
  `Content-Disposition: form-data; name="${name}"; filename="blob"\r\nContent-Type: application/json\r\n\r\n${content}`;

const blobs: readonly Entry[] = [
  part("JSON like a file", blob("data", '{"a":[1]}'), [200]),
  part("JSON like a file, of no value", blob("data", "")),
  part("JSON like a file that is none", blob("data", "{a:1}"), [400], /not JSON/),
  part("JSON like a file, 100,000 deep", blob("data", `${"[".repeat(100_000)}${"]".repeat(100_000)}`)),
  part("JSON like a file with __proto__", blob("data", '{"__proto__":{"polluted":true}}'), [200]),
  part("JSON like a file over 1 MB", blob("data", `"${"a".repeat(1_048_576)}"`), [413]),
  part("JSON like a file that is no UTF-8", blob("note", '"\xff\xfe"'), [400], /UTF-8/),
  part("JSON like a file with a NUL", blob("note", '"a\\u0000b"')),
  part("JSON like a file called __proto__", blob("__proto__", '{"a":1}')),
  part("JSON like a file in an unknown charset", blob("note", '"a"').replace("/json", "/json; charset=x-evil"), [200]),
  form("the same value as a text and like a file", aFormOf([NOTE, blob("note", '"a"')]), [400], { says: /twice/ }),
  form("1,001 values like files", aFormOf(Array.from({ length: 1_001 }, () => blob("data", "1")))),
  form("40,000 values like files", aFormOf(Array.from({ length: 40_000 }, () => blob("data", "1")))),
  form(
    "values like files, over 1 MB together",
    aFormOf([blob("data", `"${"a".repeat(600_000)}"`), blob("note", `"${"a".repeat(600_000)}"`)]),
    [413],
  ),
  form("a value like a file, cut off", `--b\r\n${blob("data", '{"a":')}`),
];

export const FORM_TEXT_ENTRIES: readonly Entry[] = [
  ...charsets,
  ...blobs,
  part("a text that is no UTF-8", 'Content-Disposition: form-data; name="note"\r\n\r\n\xff\xfe', [200, 400]),
  part("a text with a NUL", 'Content-Disposition: form-data; name="note"\r\n\r\na\0b'),
  part("a text with half a pair of surrogates", 'Content-Disposition: form-data; name="note"\r\n\r\n"\\ud800"'),
  part("a number of 1e400", 'Content-Disposition: form-data; name="share"\r\n\r\n1e400'),
  part("a number of words", 'Content-Disposition: form-data; name="count"\r\n\r\none'),
  part("an empty number", 'Content-Disposition: form-data; name="count"\r\n\r\n'),
  part("JSON 65 deep", `Content-Disposition: form-data; name="data"\r\n\r\n${"[".repeat(65)}${"]".repeat(65)}`),
  part(
    "JSON 100,000 deep",
    `Content-Disposition: form-data; name="data"\r\n\r\n${"[".repeat(100_000)}${"]".repeat(100_000)}`,
  ),
  part("JSON 100,000 deep, open", `Content-Disposition: form-data; name="data"\r\n\r\n${"[".repeat(100_000)}`),
  part(
    "JSON with __proto__",
    'Content-Disposition: form-data; name="data"\r\n\r\n{"__proto__":{"polluted":true}}',
    [200],
  ),
  part("inputs as a part", 'Content-Disposition: form-data; name="inputs"\r\n\r\n{"note":"a"}'),
  form("the same part twice", aFormOf([NOTE, NOTE]), [400], { says: /twice/ }),
  part("a text for a file", 'Content-Disposition: form-data; name="orders"\r\n\r\n/etc/passwd'),
  part("a text over 1 MB", `Content-Disposition: form-data; name="data"\r\n\r\n"${"a".repeat(1_048_576)}"`, [413]),
  form(
    "20 texts, over 1 MB together",
    aFormOf(
      Array.from(
        { length: 20 },
        (_, index) => `Content-Disposition: form-data; name="t${index}"\r\n\r\n${"a".repeat(60_000)}`,
      ),
    ),
    [413],
  ),
  form(
    "1,001 texts",
    aFormOf(Array.from({ length: 1_001 }, (_, index) => `Content-Disposition: form-data; name="t${index}"\r\n\r\n1`)),
  ),
  form(
    "100,000 texts",
    aFormOf(Array.from({ length: 100_000 }, () => 'Content-Disposition: form-data; name="t"\r\n\r\n')),
  ),
  form(
    "100,000 parts without a disposition",
    aFormOf(Array.from({ length: 100_000 }, () => "X: 1\r\n\r\n")),
    [200, 400],
  ),
  form("100,000 boundaries", `${"--b\r\n".repeat(100_000)}--b--\r\n`, [200, 400]),
  form("a transfer encoding of base64", aFormOf([`Content-Transfer-Encoding: base64\r\n${NOTE}`]), [200, 400]),
  form(
    "a form in a form",
    aFormOf([
      `Content-Disposition: form-data; name="orders"\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n${aFormOf([FILE], "c").toString("latin1")}`,
    ]),
    [400],
  ),
  form(
    "a form in a form, of the same boundary",
    aFormOf([
      `Content-Disposition: form-data; name="note"\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n${text}`,
    ]),
    [200, 400],
  ),
];
