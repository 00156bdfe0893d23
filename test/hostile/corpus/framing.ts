import { anExecuteRequest, aRequest, type Entry, executePath, type Target } from "../requests.ts";
import type { Piece } from "../wire.ts";

const head = (target: Target, lines: string): string =>
  `POST ${executePath(target)} HTTP/1.1\r\nHost: localhost\r\nx-api-key: ${target.apiKey}\r\nContent-Type: application/json\r\n${lines}\r\n`;

const framed = (
  name: string,
  lines: string,
  body: string,
  statuses: readonly number[] = [400],
  more: Partial<Entry> = {},
): Entry => ({
  name,
  send: (target) => head(target, lines) + body,
  statuses,
  ...more,
});

/** Behind a body that two readers would end at different places: were it answered, it was smuggled. */
const SMUGGLED = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
const CHUNKED = "2\r\n{}\r\n0\r\n\r\n";
const TE = "Transfer-Encoding";

const lengths: readonly Entry[] = [
  ["two lengths that differ", "Content-Length: 2\r\nContent-Length: 3\r\n"],
  ["two lengths that agree", "Content-Length: 2\r\nContent-Length: 2\r\n"],
  ["a list of lengths", "Content-Length: 2, 2\r\n"],
  ["a negative length", "Content-Length: -1\r\n"],
  ["a length with a plus sign", "Content-Length: +2\r\n"],
  ["a hexadecimal length", "Content-Length: 0x2\r\n"],
  ["a length with a fraction", "Content-Length: 2.0\r\n"],
  ["a length with an exponent", "Content-Length: 2e0\r\n"],
  ["a length in words", "Content-Length: two\r\n"],
  ["an empty length", "Content-Length:\r\n"],
  ["a length with an underscore", "Content-Length: 1_0\r\n"],
  ["a length with a space in it", "Content-Length: 1 0\r\n"],
  ["a length of 2⁶⁴", "Content-Length: 18446744073709551616\r\n"],
  ["a length of 400 digits", `Content-Length: ${"9".repeat(400)}\r\n`],
  ["a length in other digits", "Content-Length: \xb2\r\n"],
  ["a length and a space before its colon", "Content-Length : 2\r\n"],
].map(([name, lines]) => framed(name as string, lines as string, `{}${SMUGGLED}`));

const codings: readonly Entry[] = [
  ["a length and chunks", `Content-Length: 2\r\n${TE}: chunked\r\n`],
  ["chunks and a length", `${TE}: chunked\r\nContent-Length: 2\r\n`],
  ["a length of nothing and chunks", `Content-Length: 0\r\n${TE}: chunked\r\n`],
  ["an unknown coding", `${TE}: cow\r\n`],
  ["chunks that are not last", `${TE}: chunked, gzip\r\n`],
  ["chunks twice in a list", `${TE}: chunked, chunked\r\n`],
  ["chunks and identity", `${TE}: chunked\r\n${TE}: identity\r\n`],
  ["chunks with a parameter", `${TE}: chunked;q=1\r\n`],
  ["chunks spelled with a vertical tab", `${TE}: \x0bchunked\r\n`],
  ["chunks spelled wrong", `${TE}: xchunked\r\n`],
  ["chunks in quotes", `${TE}: "chunked"\r\n`],
  ["a space before the colon", `${TE} : chunked\r\n`],
  ["a folded coding", `${TE}:\r\n chunked\r\n`],
  ["an empty coding", `${TE}:\r\n`],
  ["a coding behind a line feed alone", `X-Test: a\n${TE}: chunked\r\n`],
].map(([name, lines]) =>
  framed(
    `the coding: ${name}`,
    lines as string,
    CHUNKED + SMUGGLED,
    name?.startsWith("a folded") === true ? [200, 400] : [400],
  ),
);

const chunk = (name: string, body: string, statuses: readonly number[] = [400], more: Partial<Entry> = {}): Entry =>
  framed(`a chunk ${name}`, `${TE}: chunked\r\nConnection: close\r\n`, body, statuses, more);

const chunks: readonly Entry[] = [
  chunk("in capitals of a coding that is known", CHUNKED, [200]),
  chunk("with an extension", "2;a=b\r\n{}\r\n0\r\n\r\n", [200]),
  chunk("with an extension in quotes", '2;a="b c"\r\n{}\r\n0\r\n\r\n', [200]),
  chunk("with an extension of 100,000 letters", `2;a=${"b".repeat(100_000)}\r\n{}\r\n0\r\n\r\n`, [400, 413]),
  chunk("with leading zeros", "0000000002\r\n{}\r\n0\r\n\r\n", [200, 400]),
  chunk("with a size in words", "two\r\n{}\r\n0\r\n\r\n"),
  chunk("with a negative size", "-2\r\n{}\r\n0\r\n\r\n"),
  chunk("with a size of 0x2", "0x2\r\n{}\r\n0\r\n\r\n"),
  chunk("with a size of 2⁶⁴", "10000000000000000\r\n{}\r\n0\r\n\r\n"),
  {
    name: "a chunk with a size of 2⁶³",
    send: (target) => [head(target, `${TE}: chunked\r\n`), "7fffffffffffffff\r\n{}\r\n0\r\n\r\n", null],
    statuses: [400, 413],
  },
  chunk("without a size", "\r\n{}\r\n0\r\n\r\n"),
  chunk("with a space before its size", " 2\r\n{}\r\n0\r\n\r\n"),
  chunk("with a space after its size", "2 \r\n{}\r\n0\r\n\r\n", [200, 400]),
  chunk("that ends in a line feed alone", "2\n{}\n0\n\n"),
  chunk("that is longer than it says", "1\r\n{}\r\n0\r\n\r\n"),
  chunk("that is shorter than it says", "4\r\n{}\r\n0\r\n\r\n"),
  chunk("without its end of line", "2\r\n{}0\r\n\r\n"),
  chunk("and trailers", "2\r\n{}\r\n0\r\nX-Trailer: 1\r\n\r\n", [200]),
  chunk("and a trailer that is a length", "2\r\n{}\r\n0\r\nContent-Length: 9\r\n\r\n", [200, 400]),
  chunk("and a trailer that is a key", "2\r\n{}\r\n0\r\nx-api-key: wrong\r\n\r\n", [200, 400]),
  chunk("and trailers of 100,000 bytes", `2\r\n{}\r\n0\r\nX: ${"a".repeat(100_000)}\r\n\r\n`, [400, 431]),
  chunk("and 3,000 trailers", `2\r\n{}\r\n0\r\n${"X: 1\r\n".repeat(3_000)}\r\n`, [200, 400, 431]),
  chunk("of one byte, 20,000 of them", `${"1\r\n \r\n".repeat(20_000)}${CHUNKED}`, [200]),
  chunk("of nothing but spaces, over 1 MB", `${`8000\r\n${" ".repeat(32_768)}\r\n`.repeat(40)}${CHUNKED}`, [413]),
];

const cut = (name: string, pieces: (target: Target) => readonly Piece[], statuses: readonly number[]): Entry => ({
  name,
  send: pieces,
  statuses,
});

/** Nothing comes after them: whoever is half heard is told so, or hears nothing, but never starts anything. */
const truncated: readonly Entry[] = [
  cut("a head that ends in its line", () => ["GET /heal", null], [400]),
  cut("a head that ends in a header", () => ["GET /healthz HTTP/1.1\r\nHost: loc", null], [400]),
  cut("a head without its empty line", () => ["GET /healthz HTTP/1.1\r\nHost: localhost\r\n", null], [400]),
  cut("a body that is shorter than it says", (target) => [head(target, "Content-Length: 20\r\n"), "{}", null], [400]),
  cut("a body of which nothing comes", (target) => [head(target, "Content-Length: 20\r\n"), null], [400]),
  cut("chunks without the last", (target) => [head(target, `${TE}: chunked\r\n`), "2\r\n{}\r\n", null], [400]),
  cut("a chunk that is cut off", (target) => [head(target, `${TE}: chunked\r\n`), "8\r\n{}", null], [400]),
  cut(
    "a body that is longer than it says",
    (target) => [head(target, "Content-Length: 2\r\nConnection: close\r\n"), `{}${"x".repeat(1_000)}`],
    [200],
  ),
];

const pipelined: readonly Entry[] = [
  {
    name: "three requests at once",
    send: () => aRequest("GET", "/healthz", { close: false }).toString().repeat(2) + aRequest("GET", "/healthz"),
    statuses: [200],
    replies: 3,
  },
  {
    name: "two hundred requests at once",
    send: () => aRequest("GET", "/healthz", { close: false }).toString().repeat(199) + aRequest("GET", "/healthz"),
    statuses: [200],
    replies: 200,
  },
  {
    name: "a request behind one that closes",
    send: () => aRequest("GET", "/healthz").toString().repeat(2),
    statuses: [200],
    replies: 1,
  },
  {
    name: "a request behind a body of GET",
    send: () => aRequest("GET", "/healthz", { close: false, body: SMUGGLED }).toString() + aRequest("GET", "/healthz"),
    statuses: [200],
    replies: 2,
  },
  {
    name: "a request behind a refused body",
    send: (target) =>
      anExecuteRequest({ ...target, apiKey: "wrong" }, { close: false, body: SMUGGLED }).toString() +
      aRequest("GET", "/healthz"),
    statuses: [200, 401],
    replies: 2,
  },
  {
    name: "nonsense behind a request",
    send: () => `${aRequest("GET", "/healthz", { close: false }).toString()}nonsense\r\n\r\n`,
    statuses: [200],
  },
  {
    name: "a length of nothing on GET, with a body",
    send: () =>
      `${aRequest("GET", "/healthz", { close: false, length: "0" }).toString()}${aRequest("GET", "/healthz").toString()}`,
    statuses: [200],
    replies: 2,
  },
];

export const FRAMING_ENTRIES: readonly Entry[] = [
  ...lengths,
  ...codings,
  ...chunks,
  ...truncated,
  ...pipelined,
  {
    name: "a length of more than JSON may have",
    send: (target) => [anExecuteRequest(target, { length: "1048577" })],
    statuses: [413],
  },
  {
    name: "a length of 2⁵³",
    send: (target) => [anExecuteRequest(target, { length: "9007199254740993" })],
    statuses: [413],
  },
  {
    name: "chunks under HTTP/1.0",
    send: (target) =>
      anExecuteRequest(target, { version: "HTTP/1.0", headers: [[TE, "chunked"]] }).toString("latin1") + CHUNKED,
    statuses: [200, 400],
  },
  {
    name: "no length and no chunks",
    send: (target) => anExecuteRequest(target).toString("latin1") + "{}",
    statuses: [400],
  },
];
