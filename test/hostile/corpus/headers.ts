import { aRequest, type Entry, executePath, type RequestOptions } from "../requests.ts";

type Headers = NonNullable<RequestOptions["headers"]>;

/** On an address that anybody may look at, so that only the header decides. */
const onHealth = (name: string, headers: Headers, statuses: readonly number[]): Entry => ({
  name,
  send: () => aRequest("GET", "/healthz", { headers }),
  statuses,
});

const many = (count: number, header: (index: number) => readonly [string, string]): Headers =>
  Array.from({ length: count }, (_, index) => header(index));

const hosts: readonly Entry[] = [
  { name: "no host", send: () => aRequest("GET", "/healthz", { host: null }), statuses: [400] },
  { name: "an empty host", send: () => aRequest("GET", "/healthz", { host: "" }), statuses: [200, 400] },
  { name: "two hosts", send: () => aRequest("GET", "/healthz", { headers: [["Host", "evil.test"]] }), statuses: [400] },
  {
    name: "the same host twice",
    send: () => aRequest("GET", "/healthz", { headers: [["Host", "localhost"]] }),
    statuses: [400],
  },
  {
    name: "a host with a path",
    send: () => aRequest("GET", "/healthz", { host: "localhost/../x" }),
    statuses: [200, 400],
  },
  {
    name: "a host with a space",
    send: () => aRequest("GET", "/healthz", { host: "local host" }),
    statuses: [200, 400],
  },
  {
    name: "a host with a user",
    send: () => aRequest("GET", "/healthz", { host: "a@b@localhost" }),
    statuses: [200, 400],
  },
  {
    name: "a host of 10,000 letters",
    send: () => aRequest("GET", "/healthz", { host: "a".repeat(10_000) }),
    statuses: [200, 400],
  },
  {
    name: "a host that is an address",
    send: () => aRequest("GET", "/healthz", { host: "[::1]:99999" }),
    statuses: [200, 400],
  },
  {
    name: "a host above ASCII",
    send: () => aRequest("GET", "/healthz", { host: "l\xf6calhost" }),
    statuses: [200, 400],
  },
];

const rawLine = (name: string, line: string, statuses: readonly number[] = [400]): Entry => ({
  name,
  send: () => `GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n${line}\r\n\r\n`,
  statuses,
});

const lines: readonly Entry[] = [
  rawLine("a header without a colon", "nonsense"),
  rawLine("a header without a name", ": value"),
  rawLine("a space before the colon", "X-Test : value"),
  rawLine("a tab before the colon", "X-Test\t: value"),
  rawLine("a space in the name", "X Test: value"),
  rawLine("a NUL in the name", "X\0Test: value"),
  rawLine("a NUL in the value", "X-Test: a\0b"),
  rawLine("a carriage return in the value", "X-Test: a\rb"),
  rawLine("a line feed in the value", "X-Test: a\nX-Other: b"),
  rawLine("a line feed and a space", "X-Test: a\n b"),
  rawLine("a value folded over two lines", "X-Test: a\r\n b", [200, 400]),
  rawLine("a first header that is folded", " X-Test: a"),
  rawLine("a byte above 127 in the name", "X-T\xe9st: value"),
  rawLine("bytes above 127 in the value", "X-Test: \xff\xfe", [200, 400]),
  rawLine("a delete character in the value", "X-Test: a\x7fb", [200, 400]),
  rawLine("an escape character in the value", "X-Test: \x1b[31mred"),
  rawLine("a colon in the name", "X:Test: value", [200]),
  rawLine("brackets in the name", "X(Test): value"),
  rawLine("no value", "X-Test:", [200]),
  rawLine("a name of __proto__", "__proto__: polluted", [200]),
  rawLine("a name of constructor", "constructor: polluted", [200]),
  rawLine("a name of 15,000 letters", `${"X".repeat(15_000)}: 1`, [200, 400, 431]),
  rawLine("a value of 15,000 letters", `X-Test: ${"a".repeat(15_000)}`, [200]),
  rawLine("a value of 17,000 letters", `X-Test: ${"a".repeat(17_000)}`, [400, 431]),
  rawLine("a value of 1 MB", `X-Test: ${"a".repeat(1_000_000)}`, [400, 431]),
];

const counts: readonly Entry[] = [
  onHealth(
    "150 headers",
    many(150, (index) => [`X-${index}`, "1"]),
    [200],
  ),
  onHealth(
    "1,000 headers",
    many(1_000, (index) => [`X-${index}`, "1"]),
    [200, 400, 431],
  ),
  onHealth(
    "5,000 headers",
    many(5_000, (index) => [`X-${index}`, "1"]),
    [400, 431],
  ),
  onHealth(
    "150 headers of one name",
    many(150, () => ["X-Same", "1"]),
    [200],
  ),
  onHealth(
    "150 cookies",
    many(150, (index) => ["Cookie", `__Host-session=${"a".repeat(43)}${index}`]),
    [200],
  ),
  onHealth("3,000 pairs in a cookie", [["Cookie", "a=b;".repeat(3_000)]], [200]),
  {
    name: "the length behind 300 other headers, with a body",
    send: (target) => [
      `POST ${executePath(target)} HTTP/1.1\r\nHost: localhost\r\nx-api-key: ${target.apiKey}\r\nContent-Type: application/json\r\n`,
      `${"X-Fill: 1\r\n".repeat(300)}Connection: close\r\nContent-Length: 2\r\n\r\n{}`,
    ],
    statuses: [200, 400, 431],
  },
  {
    name: "the key behind 300 other headers",
    send: (target) =>
      aRequest("POST", executePath(target), {
        body: "{}",
        headers: [
          ["Content-Type", "application/json"],
          ...many(300, (index) => [`X-${index}`, "1"]),
          ["x-api-key", target.apiKey],
        ],
      }),
    statuses: [200, 400, 401, 431],
  },
];

export const HEADER_ENTRIES: readonly Entry[] = [...hosts, ...lines, ...counts];
