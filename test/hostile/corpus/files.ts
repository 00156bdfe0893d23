import { aKeyedRequest, type Entry, filePath, type RequestOptions } from "../requests.ts";

const ranged = (range: string, statuses: readonly number[], headers: RequestOptions["headers"] = []): Entry => ({
  name: `the range ${JSON.stringify(range.slice(0, 60))}${headers.map(([name, value]) => ` with ${name} of ${JSON.stringify(value.slice(0, 20))}`).join("")}`,
  send: (target) => aKeyedRequest(target, "GET", filePath(target), { headers: [["Range", range], ...headers] }),
  statuses,
});

const ranges: readonly Entry[] = [
  ranged("bytes=0-0", [206]),
  ranged("bytes=-1", [206]),
  ranged("bytes=999-", [206]),
  ranged("bytes=0-999999999999", [206]),
  ranged("bytes=-999999999999", [206]),
  ranged("bytes=1000-", [416]),
  ranged("bytes=1000-1000", [416]),
  ranged("bytes=-0", [416]),
  ranged("bytes=999999999999999-", [416]),
  ranged("bytes=5-4", [200]),
  ranged("bytes=", [200]),
  ranged("bytes=-", [200]),
  ranged("bytes=--5", [200]),
  ranged("bytes=a-b", [200]),
  ranged("bytes=0x0-0x5", [200]),
  ranged("bytes=1.5-2.5", [200]),
  ranged("bytes=1e2-", [200]),
  ranged("bytes=+1-2", [200]),
  ranged("bytes= 0 - 5", [200, 206]),
  ranged("bytes=0-5,", [200]),
  ranged("bytes=0-0,5-5", [200]),
  ranged("items=0-5", [200]),
  ranged("0-5", [200]),
  ranged("bytes", [200]),
  ranged("", [200]),
  ranged(`bytes=${"0-0,".repeat(3_000)}0-0`, [200]),
  ranged(`bytes=0-,${"-1,".repeat(3_000)}`, [200]),
  ranged(`bytes=${"9".repeat(400)}-`, [200, 416]),
  ranged(`bytes=0-${"9".repeat(400)}`, [200, 206]),
  ranged("bytes=18446744073709551615-18446744073709551616", [200, 416]),
  ranged("bytes=0-5; drop", [200]),
  ranged("bytes=\xb2-\xb3", [200]),
  ranged("bytes=0-5", [200], [["If-Range", '"other"']]),
  ranged("bytes=0-5", [200], [["If-Range", "Mon, 01 Jan 2026 00:00:00 GMT"]]),
  ranged("bytes=0-5", [200], [["If-Range", '"'.repeat(5_000)]]),
  ranged("bytes=0-5", [200, 206], [["If-Range", ""]]),
  ranged("bytes=0-5", [200, 206], [["Range", "bytes=7-9"]]),
  ranged("bytes=1000-", [304], [["If-None-Match", "*"]]),
];

const conditional = (what: string, tag: string, statuses: readonly number[]): Entry => ({
  name: `If-None-Match of ${what}`,
  send: (target) => aKeyedRequest(target, "GET", filePath(target), { headers: [["If-None-Match", tag]] }),
  statuses,
});

export const FILE_ENTRIES: readonly Entry[] = [
  ...ranges,
  conditional("nothing", "", [200]),
  conditional("an asterisk", "*", [304]),
  conditional("asterisks", "*, *", [200, 304]),
  conditional("a tag without quotes", "abc", [200]),
  conditional("quotes without an end", '"'.repeat(9_999), [200]),
  conditional("3,000 tags", '"a",'.repeat(3_000), [200]),
  conditional("weak nonsense", "W/W/W/", [200]),
  {
    name: "HEAD of a file with a range",
    send: (target) => aKeyedRequest(target, "HEAD", filePath(target), { headers: [["Range", "bytes=5000-"]] }),
    statuses: [200],
    isHead: true,
  },
  {
    name: "HEAD of a log",
    send: (target) => aKeyedRequest(target, "HEAD", `/api/run-logs/${target.executionId}/logs`),
    statuses: [200],
    isHead: true,
  },
  {
    name: "a log with a range",
    send: (target) =>
      aKeyedRequest(target, "GET", `/api/run-logs/${target.executionId}/logs`, { headers: [["Range", "bytes=0-0"]] }),
    statuses: [200, 206],
  },
  {
    name: "a file with a body",
    send: (target) => aKeyedRequest(target, "GET", filePath(target), { body: "x".repeat(10_000) }),
    statuses: [200],
  },
  {
    name: "a cancel with a body of 5 MB",
    send: (target) =>
      aKeyedRequest(target, "POST", `/api/run-logs/${target.executionId}/cancel`, { body: "x".repeat(5_000_000) }),
    statuses: [200],
  },
  {
    name: "a cancel with a body of another length",
    send: (target) =>
      aKeyedRequest(target, "POST", `/api/run-logs/${target.executionId}/cancel`, { body: "x", length: "0" }),
    statuses: [200, 400],
    replies: 1,
  },
];
