import { anExecuteRequest, aRequest, type Entry, executePath, type RequestOptions } from "../requests.ts";

type Headers = NonNullable<RequestOptions["headers"]>;

/** On an address that anybody may look at, so that only the header decides. */
const onHealth = (name: string, headers: Headers, statuses: readonly number[]): Entry => ({
  name,
  send: () => aRequest("GET", "/healthz", { headers }),
  statuses,
});

const onExecute = (
  name: string,
  headers: Headers,
  statuses: readonly number[],
  options: RequestOptions = {},
): Entry => ({
  name,
  send: (target) => anExecuteRequest(target, { body: "{}", ...options, headers }),
  statuses,
});

/** Headers that are well written and ask for something odd. */
export const HEADER_VALUE_ENTRIES: readonly Entry[] = [
  onHealth(
    "an upgrade to h2c",
    [
      ["Upgrade", "h2c"],
      ["HTTP2-Settings", "AAMAAABkAAQAAP__"],
    ],
    [200, 400, 426],
  ),
  onExecute(
    "an upgrade to WebSocket",
    [
      ["Connection", "Upgrade"],
      ["Upgrade", "websocket"],
      ["Sec-WebSocket-Key", "x"],
    ],
    [200, 400, 426],
  ),
  onExecute("a key that Connection names", [["Connection", "x-api-key, content-type"]], [200]),
  onHealth("connections of all kinds", [["Connection", "keep-alive, close, upgrade, , ,"]], [200]),
  onExecute("an unknown expectation", [["Expect", "200-ok"]], [200, 417]),
  onExecute("an empty expectation", [["Expect", ""]], [200, 417]),
  onExecute(
    "two expectations",
    [
      ["Expect", "100-continue"],
      ["Expect", "x"],
    ],
    [200, 400, 417],
  ),
  onExecute("100-continue, the body sent at once", [["Expect", "100-continue"]], [200]),
  onExecute("100-Continue in capitals", [["Expect", "100-CONTINUE"]], [200, 417]),
  {
    name: "100-continue of a GET",
    send: () => aRequest("GET", "/healthz", { headers: [["Expect", "100-continue"]] }),
    statuses: [200],
  },
  {
    name: "100-continue with a wrong key",
    send: (target) =>
      aRequest("POST", executePath(target), {
        length: "1000000",
        headers: [
          ["Expect", "100-continue"],
          ["x-api-key", "wrong"],
          ["Content-Type", "application/json"],
        ],
      }),
    statuses: [401],
  },
  {
    name: "100-continue of more than may be",
    send: (target) => anExecuteRequest(target, { length: "99999999999", headers: [["Expect", "100-continue"]] }),
    statuses: [413],
  },
  onHealth("media types that nobody has", [["Accept", "x/y;q=zz, */*;q=-1, ,,;"]], [200]),
  onHealth("no encoding at all wanted", [["Accept-Encoding", "identity;q=0, *;q=0"]], [200, 406]),
  onHealth("encodings of 10,000 letters", [["Accept-Encoding", "gzip;".repeat(2_000)]], [200]),
  onHealth("languages of 10,000 letters", [["Accept-Language", "en-".repeat(3_000)]], [200]),
  onHealth("a proxy's word for the address", [["X-Forwarded-For", "'; drop table users; --, ".repeat(50)]], [200]),
  onHealth("a proxy's word for the scheme", [["X-Forwarded-Proto", "http"]], [200]),
  onHealth(
    "a proxy's word for the host",
    [
      ["X-Forwarded-Host", "evil.test"],
      ["X-Original-URL", "/api/operator"],
      ["X-Rewrite-URL", "/x"],
    ],
    [200],
  ),
  onHealth("a range of nothing", [["Range", "bytes=0-"]], [200]),
  onHealth("a date that never was", [["If-Modified-Since", "Mon, 99 Foo 99999 99:99:99 GMT"]], [200]),
  onHealth("a tag that is cut off", [["If-None-Match", 'W/"']], [200]),
  onHealth(
    "trailers announced",
    [
      ["Trailer", "Content-Length, Host"],
      ["TE", "trailers, chunked;q=0"],
    ],
    [200],
  ),
  onExecute("a prefer header of nonsense", [["Prefer", "wait=-1, wait=1e9, respond-async=x, ;;;="]], [200, 202, 400]),
  onExecute("a prefer header to wait for ever", [["Prefer", `wait=${"9".repeat(300)}`]], [200, 202, 400]),
  onExecute("an idempotency key of 8,000 letters", [["Idempotency-Key", "k".repeat(8_000)]], [200, 400]),
  onExecute("an idempotency key of nothing", [["Idempotency-Key", ""]], [200, 400]),
  onExecute(
    "an idempotency key above ASCII",
    [["Idempotency-Key", "\xff\xfe'; drop table executions; --"]],
    [200, 400],
  ),
  onExecute(
    "two idempotency keys",
    [
      ["Idempotency-Key", "a"],
      ["Idempotency-Key", "b"],
    ],
    [200, 400],
  ),
  onExecute("a resumption of events from nonsense", [["Last-Event-ID", "-1e999"]], [200, 400]),
  {
    name: "another website's form, with our cookie",
    send: (target) =>
      anExecuteRequest(
        { ...target, apiKey: "" },
        {
          body: "{}",
          headers: [
            ["Cookie", target.cookie],
            ["Sec-Fetch-Site", "cross-site"],
          ],
        },
      ),
    statuses: [401, 403],
  },
  {
    name: "another website's cancel, with our cookie",
    send: (target) =>
      aRequest("POST", `/api/run-logs/${target.executionId}/cancel`, {
        headers: [
          ["Cookie", target.cookie],
          ["Origin", "https://evil.test"],
        ],
      }),
    statuses: [403],
  },
  {
    name: "an origin of null, with our cookie",
    send: (target) =>
      aRequest("POST", `/api/run-logs/${target.executionId}/cancel`, {
        headers: [
          ["Cookie", target.cookie],
          ["Origin", "null"],
        ],
      }),
    statuses: [403],
  },
  {
    name: "an origin that is no address, with our cookie",
    send: (target) =>
      aRequest("POST", `/api/run-logs/${target.executionId}/cancel`, {
        headers: [
          ["Cookie", target.cookie],
          ["Origin", "https://[::"],
        ],
      }),
    statuses: [403],
  },
];
