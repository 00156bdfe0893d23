import { gzipSync } from "node:zlib";
import { aRequest, type Entry, type RequestOptions, type Target } from "../requests.ts";
import { aTar, aTarEntry } from "../tar.ts";

const BASE = "/api";
const bearer = (target: Target): readonly [string, string] => ["Authorization", `Bearer ${target.token}`];

const get = (name: string, path: string, statuses: readonly number[]): Entry => ({
  name: `GET ${name}`,
  send: (target) => aRequest("GET", BASE + path, { headers: [bearer(target)] }),
  statuses,
});

const post = (
  name: string,
  path: string,
  body: string | Buffer,
  statuses: readonly number[] = [400],
  headers: RequestOptions["headers"] = [],
): Entry => ({
  name: `POST ${name}`,
  send: (target) =>
    aRequest("POST", BASE + path, {
      body,
      headers: [bearer(target), ["Content-Type", "application/json"], ...headers],
    }),
  statuses,
});

const token = (name: string, value: string | null): Entry => ({
  name: `token: ${name}`,
  send: () => aRequest("GET", `${BASE}/accounts`, { headers: value === null ? [] : [["Authorization", value]] }),
  statuses: [401],
});

const queries: readonly Entry[] = [
  get("workflows of an account with a NUL", "/workflows?account=%00", [400, 404]),
  get("workflows of an account of half an escape", "/workflows?account=%e2%82", [404]),
  get("workflows of two accounts", "/workflows?account=a&account=b", [200, 400, 404]),
  get("workflows of an account of brackets", "/workflows?account[$ne]=x", [200, 400]),
  get("workflows of an account of SQL", "/workflows?account='%20or%201=1%20--", [404]),
  get("workflows of an account of 8,000 letters", `/workflows?account=${"a".repeat(8_000)}`, [400, 404]),
  get("credits of an account with a NUL", "/account?account=a%00b", [400, 404]),
  get("no executions", "/executions?limit=0", [400]),
  get("fewer executions than none", "/executions?limit=-1", [400]),
  get("a million executions", "/executions?limit=1000000", [400]),
  get("1e3 executions", "/executions?limit=1e3", [200, 400]),
  get("executions in words", "/executions?limit=ten", [400]),
  get("an infinity of executions", "/executions?limit=Infinity", [400]),
  get("executions twice", "/executions?limit=1&limit=2", [200, 400]),
  get("executions of a workflow with a NUL", "/executions?workflow=%00", [400, 404]),
  get("executions of an account with a NUL", "/executions?account=%00", [400, 404]),
  get("executions behind nonsense", "/executions?before=%00&cursor=%ff", [200, 400]),
  get("a workflow with a NUL", "/workflows/%00", [404]),
  get("a workflow of no UTF-8", "/workflows/%ff", [400]),
  get("a workflow of dots", "/workflows/..%2f..%2fcredits", [404]),
  get("the key of a workflow of SQL", "/workflows/'%20or%201=1/key", [404]),
  get("the build log of a commit of dots", "/workflows/wf_0000000000000000/commits/..%2f..%2fetc/build-log", [404]),
  get("an execution with a NUL", "/executions/ex_%00", [404]),
  get("a schedule's runs, too many", "/workflows/wf_0000000000000000/schedule?count=1e9", [400, 404]),
  get("an unknown route", "/nothing", [404]),
  get("a route of the prototype", "/__proto__", [404]),
];

const bodies: readonly Entry[] = [
  post("an account without a body", "/accounts", ""),
  post("an account of broken JSON", "/accounts", '{"name":'),
  post("an account of a list", "/accounts", "[]"),
  post("an account of a string", "/accounts", '"a"'),
  post("an account without a name", "/accounts", "{}"),
  post("an account of spaces", "/accounts", '{"name":"   "}'),
  post("an account of 201 letters", "/accounts", `{"name":"${"a".repeat(201)}"}`),
  post("an account with a NUL", "/accounts", '{"name":"a\\u0000"}'),
  post("an account of half a pair of surrogates", "/accounts", '{"name":"\\ud800"}'),
  post("an account of an object", "/accounts", '{"name":{"$ne":null}}'),
  post("an account with a key too many", "/accounts", '{"name":"a","admin":true}'),
  post("an account with __proto__", "/accounts", '{"name":"a","__proto__":{"admin":true}}'),
  post("an account with credits of 1e9", "/accounts", '{"name":"a","credits":"1e9"}'),
  post("an account with credits of NaN", "/accounts", '{"name":"a","credits":"NaN"}'),
  post("an account with credits as a number", "/accounts", '{"name":"a","credits":5}'),
  post("an account with fewer credits than none", "/accounts", '{"name":"a","credits":"-1"}'),
  post("an account with seven decimals", "/accounts", '{"name":"a","credits":"1.0000001"}'),
  post("an account with 10,000 digits", "/accounts", `{"name":"a","credits":"${"9".repeat(9_000)}"}`),
  post("an account of 4,000 lists", "/accounts", `{"name":${"[".repeat(4_000)}${"]".repeat(4_000)}}`),
  post("an account of 70,000 bytes", "/accounts", `{"name":"${"a".repeat(70_000)}"}`, [413]),
  post(
    "an account of UTF-16",
    "/accounts",
    Buffer.from('{"name":"a"}', "utf16le"),
    [400, 415],
    [["Content-Type", "application/json; charset=utf-16"]],
  ),
  post(
    "an account that is compressed",
    "/accounts",
    gzipSync('{"name":"a"}'),
    [400, 415],
    [["Content-Encoding", "gzip"]],
  ),
  post("an account of bytes that are no UTF-8", "/accounts", Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])),
  post("a workflow with a NUL", "/workflows", '{"name":"\\u0000"}'),
  post("a workflow of an account with a NUL", "/workflows?account=%00", '{"name":"a"}', [400, 404]),
  post("a grant of nothing", "/account/grants", '{"credits":"0"}'),
  post("a grant of less than nothing", "/account/grants", '{"credits":"-5"}'),
  post("a grant with a NUL for a reason", "/account/grants", '{"credits":"5","reason":"\\u0000"}'),
  post("a grant to an account with a NUL", "/account/grants?account=%00", '{"credits":"5"}', [400, 404]),
  post("a grant of more than there is", "/account/grants", '{"credits":"1000000001"}'),
  post("an adjustment below what is there", "/account/adjustments", '{"credits":"-1000000000"}', [400, 409]),
  post("a rotation with a grace of years", "/workflows/wf_0000000000000000/keys", '{"graceSeconds":1e12}', [400, 404]),
];

const DRY = "/publish/preview?name=hostile";
const TAR = "application/x-tar";

const publish = (name: string, archive: Buffer, statuses: readonly number[] = [400], query = ""): Entry => ({
  name: `publish: ${name}`,
  send: (target) =>
    aRequest("POST", BASE + DRY + query, { body: archive, headers: [bearer(target), ["Content-Type", TAR]] }),
  statuses,
});

const MAIN = aTarEntry("main.py", "def main():\n    pass\n");
const good = [aTarEntry("config.yaml", "name: x\n"), MAIN];
const paths: readonly (readonly [string, string])[] = [
  ["a way up", "../evil.py"],
  ["a way up from below", "a/../../evil.py"],
  ["an absolute path", "/etc/passwd"],
  ["a Windows path", "C:\\evil.py"],
  ["backslashes", "..\\evil.py"],
  ["git's own folder", ".git/config"],
  ["git's own folder in capitals", ".GIT/hooks/post-checkout"],
  ["git's own folder by its short name", "git~1/config"],
  ["a line break", "a\nb.py"],
  ["a dot", ".//"],
  ["no name", ""],
  ["a name of bytes that are no UTF-8", "\xff\xfe.py"],
];

const archives: readonly Entry[] = [
  publish("nothing", Buffer.alloc(0)),
  publish("nonsense", Buffer.from("nonsense")),
  publish("zeros", Buffer.alloc(10_240)),
  publish("a megabyte of nonsense", Buffer.alloc(1_000_000, "x")),
  publish("a compressed archive", gzipSync(aTar(good))),
  publish("an archive that is cut off", aTar(good).subarray(0, 700)),
  publish("an archive without its end", Buffer.concat(good), [200, 400]),
  publish("a wrong checksum", aTar([Buffer.from(MAIN).fill("9", 148, 154), ...good])),
  publish("a file that says it is 8 GB", aTar([aTarEntry("main.py", "x", { size: 8_589_934_591 })]), [400, 413]),
  publish("a file of a negative size", aTar([aTarEntry("main.py", "x", { rawSize: "-0000000001\0" })])),
  publish("a file of a size in words", aTar([aTarEntry("main.py", "x", { rawSize: "elephantine\0" })])),
  publish(
    "a file of a size of 2⁸⁸",
    aTar([aTarEntry("main.py", "x", { rawSize: `\x80${"\xff".repeat(11)}` })]),
    [400, 413],
  ),
  publish("a symbolic link", aTar([...good, aTarEntry("link", "", { type: "2", link: "/etc/passwd" })])),
  publish("a hard link", aTar([...good, aTarEntry("link", "", { type: "1", link: "main.py" })])),
  publish("a device", aTar([...good, aTarEntry("null", "", { type: "3" })])),
  publish("a named pipe", aTar([...good, aTarEntry("pipe", "", { type: "6" })])),
  publish("an unknown type", aTar([...good, aTarEntry("odd", "", { type: "Z" })]), [200, 400]),
  publish(
    "a pax header of nonsense",
    aTar([aTarEntry("pax", "99999 path=../evil\n", { type: "x" }), ...good]),
    [200, 400],
  ),
  publish(
    "a pax header of __proto__",
    aTar([aTarEntry("pax", "25 __proto__.polluted=1\n\n", { type: "x" }), ...good]),
    [200, 400],
  ),
  publish(
    "a pax path of dots",
    aTar([aTarEntry("pax", "20 path=../evil.py\n", { type: "x" }), MAIN, ...good]),
    [200, 400],
  ),
  publish(
    "a pax header of 1 MB",
    aTar([aTarEntry("pax", `1000014 path=${"a".repeat(1_000_000)}\n`, { type: "x" }), ...good]),
    [200, 400, 413],
  ),
  publish(
    "a long name of 1 MB",
    aTar([aTarEntry("././@LongLink", "a".repeat(1_000_000), { type: "L" }), ...good]),
    [200, 400, 413],
  ),
  publish("the same file twice", aTar([...good, MAIN])),
  publish("names that differ in case", aTar([...good, aTarEntry("MAIN.py", "x")]), [200, 400]),
  publish("a file under a file", aTar([...good, aTarEntry("main.py/a.py", "x")])),
  publish(
    "1,001 files",
    aTar([...good, ...Array.from({ length: 1_001 }, (_, at) => aTarEntry(`f${at}.py`, ""))]),
    [400, 413],
  ),
  publish(
    "10,000 folders",
    aTar([...good, ...Array.from({ length: 10_000 }, (_, at) => aTarEntry(`d${at}/`, "", { type: "5" }))]),
    [400, 413],
  ),
  publish("20 MB and more", aTar([...good, aTarEntry("large.bin", "x".repeat(21_000_000))]), [400, 413]),
  ...paths.map(([what, path]) => publish(`a file called ${what}`, aTar([...good, aTarEntry(path, "x")]), [400])),
  publish("a config.yaml of nonsense", aTar([aTarEntry("config.yaml", "[".repeat(60_000)), MAIN])),
  publish("a config.yaml with a NUL", aTar([aTarEntry("config.yaml", "name: a\0b\n"), MAIN])),
  publish("a config.yaml of no UTF-8", aTar([aTarEntry("config.yaml", "name: \xff\xfe\n"), MAIN]), [200, 400]),
  publish("a config.yaml of 70,000 bytes", aTar([aTarEntry("config.yaml", `# ${"a".repeat(70_000)}\n`), MAIN])),
  publish("a name with a NUL", aTar(good), [200, 400], "%00"),
  publish("a message of 100,000 letters", aTar(good), [400, 431], `&message=${"m".repeat(14_000)}`),
  publish("an expected head of nonsense", aTar(good), [400], "&expectedHead=..%2f"),
  publish("a parameter too many", aTar(good), [400], "&evil=1"),
  publish("a workflow with a NUL", aTar(good), [400, 404], "&workflow=%00"),
  publish("an account with a NUL", aTar(good), [400, 404], "&account=%00"),
  {
    name: "publish: JSON for an archive",
    send: (target) =>
      aRequest("POST", BASE + DRY, { body: "{}", headers: [bearer(target), ["Content-Type", "application/json"]] }),
    statuses: [400, 415],
  },
  {
    name: "publish: an archive that is shorter than it says",
    send: (target) => [
      aRequest("POST", BASE + DRY, {
        body: aTar(good),
        length: "100000",
        headers: [bearer(target), ["Content-Type", TAR]],
      }),
      null,
    ],
    statuses: [400],
  },
];

export const OPERATOR_ENTRIES: readonly Entry[] = [
  token("none", null),
  token("empty", ""),
  token("a word", "Bearer"),
  token("made up", "Bearer trdp_0000000000000000000000000000000000000000000"),
  token("of another kind", "Basic YTpi"),
  token("of 10,000 letters", `Bearer ${"t".repeat(10_000)}`),
  token("above ASCII", "Bearer \xff\xfe"),
  token("of SQL", "Bearer ' or 1=1 --"),
  {
    name: "token: a workflow's key",
    send: (target) =>
      aRequest("GET", `${BASE}/accounts`, {
        headers: [
          ["x-api-key", target.apiKey],
          ["Authorization", `Bearer ${target.apiKey}`],
        ],
      }),
    statuses: [401],
  },
  {
    name: "a session where the operator's token is needed",
    send: (target) =>
      aRequest("POST", `${BASE}/account/grants`, {
        body: '{"credits":"5"}',
        headers: [
          ["Cookie", target.cookie],
          ["Sec-Fetch-Site", "same-origin"],
          ["Content-Type", "application/json"],
        ],
      }),
    statuses: [403],
  },
  ...queries,
  ...bodies,
  ...archives,
];
