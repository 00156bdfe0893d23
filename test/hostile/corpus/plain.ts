import { anExecuteRequest, aRequest, type Entry } from "../requests.ts";

const raw = (name: string, text: string, statuses: readonly number[] = [400]): Entry => ({
  name,
  send: () => text,
  statuses,
});

/** Sent to the same port without TLS: nothing but a refusal in words may come back, and never a redirect. */
export const PLAIN_ENTRIES: readonly Entry[] = [
  { name: "health over plain HTTP", send: () => aRequest("GET", "/healthz"), statuses: [400] },
  {
    name: "execute over plain HTTP",
    send: (target) => anExecuteRequest(target, { body: "{}" }),
    statuses: [400],
    says: /HTTPS only/,
  },
  {
    name: "execute over plain HTTP, by a proxy's word",
    send: (target) => anExecuteRequest(target, { body: "{}", headers: [["X-Forwarded-Proto", "https"]] }),
    statuses: [400],
  },
  {
    name: "a body of 5 MB over plain HTTP",
    send: (target) => anExecuteRequest(target, { body: "x".repeat(5_000_000) }),
    statuses: [400],
  },
  { name: "CONNECT over plain HTTP", send: () => aRequest("CONNECT", "example.test:443"), statuses: [400, 405] },
  raw(
    "an upgrade to h2c over plain HTTP",
    "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, HTTP2-Settings, close\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n",
  ),
  raw("the preface of HTTP/2 over plain HTTP", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
  raw("nonsense", "nonsense\r\n\r\n"),
  raw("binary nonsense", `\x00${"\xff".repeat(1_000)}`),
  raw("a SOCKS greeting", "\x05\x01\x00"),
  raw("an old SSL greeting", "\x80\x2e\x01\x00\x02\x00\x15\x00\x00\x00\x10"),
  raw("a handshake of nonsense", `\x16\x03\x01\x00\x10${"\xff".repeat(16)}`, []),
  raw("a handshake record that is too long", `\x16\x03\x01\xff\xff${"\x00".repeat(70_000)}`, []),
  raw("a handshake of another version", `\x16\x09\x09\x00\x05${"\x01".repeat(5)}`, []),
  raw("an alert for a handshake", "\x15\x03\x01\x00\x02\x02\x28", [400]),
  raw("headers of 20,000 bytes", `GET / HTTP/1.1\r\nHost: x\r\nX: ${"a".repeat(20_000)}\r\n\r\n`, [400, 431]),
];
