import { aKeyedRequest, aRequest, type Entry, executePath } from "../requests.ts";

const raw = (name: string, text: string, statuses: readonly number[] = [400], more: Partial<Entry> = {}): Entry => ({
  name,
  send: () => text,
  statuses,
  ...more,
});

const REST = "Host: localhost\r\nConnection: close\r\n\r\n";

const lines: readonly Entry[] = [
  raw("no version", `GET /healthz\r\n${REST}`),
  raw("HTTP/0.9", "GET /healthz\r\n\r\n"),
  raw("HTTP/1.0 without a host", "GET /healthz HTTP/1.0\r\n\r\n", [200]),
  raw("HTTP/1.0 that wants to keep the connection", "GET /healthz HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", [200]),
  raw("HTTP/1.1 without a host", "GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n", [400], { says: /Host/ }),
  raw("HTTP/2.0 in a line", `GET /healthz HTTP/2.0\r\n${REST}`, [400, 505]),
  raw("the preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", [400, 505]),
  raw("HTTP/1.2", `GET /healthz HTTP/1.2\r\n${REST}`, [200, 400, 505]),
  raw("HTTP/9.9", `GET /healthz HTTP/9.9\r\n${REST}`, [400, 505]),
  raw("a version of many digits", `GET /healthz HTTP/1.${"1".repeat(1_000)}\r\n${REST}`),
  raw("a version in lower case", `GET /healthz http/1.1\r\n${REST}`),
  raw("another protocol", `GET /healthz RTSP/1.0\r\n${REST}`, [200, 400]),
  raw("a protocol that nobody knows", `GET /healthz EVIL/1.1\r\n${REST}`),
  raw("a space after the version", `GET /healthz HTTP/1.1 \r\n${REST}`),
  raw("two spaces before the path", `GET  /healthz HTTP/1.1\r\n${REST}`, [200, 400]),
  raw("a tab before the path", `GET\t/healthz HTTP/1.1\r\n${REST}`),
  raw("a space in the path", `GET /heal thz HTTP/1.1\r\n${REST}`),
  raw("a space before the method", ` GET /healthz HTTP/1.1\r\n${REST}`),
  raw("an empty line first", `\r\nGET /healthz HTTP/1.1\r\n${REST}`, [200]),
  raw("a thousand empty lines first", `${"\r\n".repeat(1_000)}GET /healthz HTTP/1.1\r\n${REST}`, [200, 400]),
  raw("a line feed alone after the line", `GET /healthz HTTP/1.1\n${REST}`),
  raw("line feeds alone everywhere", "GET /healthz HTTP/1.1\nHost: localhost\nConnection: close\n\n"),
  raw("carriage returns alone everywhere", "GET /healthz HTTP/1.1\rHost: localhost\rConnection: close\r\r", [400]),
  raw("a NUL in the line", `GET /heal\0thz HTTP/1.1\r\n${REST}`),
  raw("a NUL before everything", `\0GET /healthz HTTP/1.1\r\n${REST}`),
  raw("a delete character in the path", `GET /heal\x7fthz HTTP/1.1\r\n${REST}`, [400, 404]),
  raw("bytes above 127 in the path", `GET /heal\xffthz HTTP/1.1\r\n${REST}`, [400, 404]),
  raw("no path", `GET HTTP/1.1\r\n${REST}`),
  raw("a path without its slash", `GET healthz HTTP/1.1\r\n${REST}`, [400, 404]),
  raw("a fragment", `GET /healthz#top HTTP/1.1\r\n${REST}`, [200, 400, 404]),
  raw("a backslash for a slash", `GET \\healthz HTTP/1.1\r\n${REST}`, [400, 404]),
  raw("two slashes first", `GET //healthz HTTP/1.1\r\n${REST}`, [404]),
  raw("two slashes and a host first", `GET //evil.test/healthz HTTP/1.1\r\n${REST}`, [404]),
  raw("a question mark alone", `GET ? HTTP/1.1\r\n${REST}`, [400, 404]),
  raw("an asterisk", `GET * HTTP/1.1\r\n${REST}`, [400, 404]),
  raw("OPTIONS of an asterisk", `OPTIONS * HTTP/1.1\r\n${REST}`, [400, 404, 405]),
  raw("absolute form", `GET https://localhost/healthz HTTP/1.1\r\n${REST}`, [200]),
  raw("absolute form of another host", `GET https://evil.test/healthz HTTP/1.1\r\n${REST}`, [200, 400, 404]),
  raw("absolute form with a password", `GET https://user:secret@localhost/healthz HTTP/1.1\r\n${REST}`, [200, 400]),
  raw(
    "absolute form with a broken port",
    `GET https://localhost:99999999/healthz HTTP/1.1\r\n${REST}`,
    [200, 400, 404],
  ),
  raw("absolute form with a broken IPv6 address", `GET http://[::1/healthz HTTP/1.1\r\n${REST}`, [400, 404]),
  raw("absolute form without a host", `GET http:///healthz HTTP/1.1\r\n${REST}`, [200, 400, 404]),
  raw("a file address", `GET file:///etc/passwd HTTP/1.1\r\n${REST}`, [400, 404]),
  raw("a script address", `GET javascript:alert(1) HTTP/1.1\r\n${REST}`, [400, 404]),
  raw("authority form", `GET localhost:443 HTTP/1.1\r\n${REST}`, [400, 404]),
  { name: "only empty lines, then the end", send: () => ["\r\n\r\n\r\n", null], statuses: [] },
  raw("nonsense", "nonsense\r\n\r\n"),
  raw("binary nonsense", Buffer.from(Array.from({ length: 512 }, (_, at) => (at * 73 + 11) % 256)).toString("latin1")),
  raw("a TLS handshake inside TLS", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"),
  raw("an SSH greeting", "SSH-2.0-OpenSSH_9.6\r\n"),
  raw("a mail server's greeting", "EHLO example.test\r\nMAIL FROM:<a@example.test>\r\n"),
  raw("a Redis command", "*1\r\n$4\r\nPING\r\n"),
  raw("a proxy's PROXY line", `PROXY TCP4 203.0.113.7 203.0.113.8 1 2\r\nGET /healthz HTTP/1.1\r\n${REST}`),
  raw("an answer for a request", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
];

const longs: readonly Entry[] = [
  { name: "a path of 8,000 bytes", send: () => aRequest("GET", `/${"a".repeat(8_000)}`), statuses: [404] },
  { name: "a path of 17,000 bytes", send: () => aRequest("GET", `/${"a".repeat(17_000)}`), statuses: [400, 414, 431] },
  { name: "a path of 1 MB", send: () => aRequest("GET", `/${"a".repeat(1_000_000)}`), statuses: [400, 414, 431] },
  { name: "a path of 4,000 segments", send: () => aRequest("GET", "/a".repeat(4_000)), statuses: [404] },
  { name: "a path of 7,000 slashes", send: () => aRequest("GET", "/".repeat(7_000)), statuses: [404] },
  { name: "a query of 3,000 names", send: () => aRequest("GET", `/healthz?${"a&".repeat(3_000)}`), statuses: [200] },
  { name: "a query of brackets", send: () => aRequest("GET", `/healthz?${"a[".repeat(3_000)}`), statuses: [200] },
  {
    name: "a query with __proto__",
    send: () => aRequest("GET", "/healthz?__proto__[x]=1&constructor.prototype.x=1"),
    statuses: [200],
  },
  { name: "a query of broken escapes", send: () => aRequest("GET", "/healthz?%=%zz&%ff=%00"), statuses: [200] },
  {
    name: "a broken query on execute",
    send: (target) =>
      aKeyedRequest(target, "POST", `${executePath(target)}?%=%zz&inputs=1`, {
        body: "{}",
        headers: [["Content-Type", "application/json"]],
      }),
    statuses: [200],
  },
  {
    name: "the key in the query",
    send: (target) =>
      aRequest("POST", `${executePath(target)}?x-api-key=${target.apiKey}`, {
        body: "{}",
        headers: [["Content-Type", "application/json"]],
      }),
    statuses: [401],
  },
];

export const REQUEST_LINE_ENTRIES: readonly Entry[] = [...lines, ...longs];
