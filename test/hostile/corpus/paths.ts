import { aKeyedRequest, type Entry, filePath } from "../requests.ts";

/** Segments that some layer might decode once too often, resolve, hand to a shell, a file system or a database. */
const SEGMENTS: readonly (readonly [string, string])[] = [
  ["two dots", ".."],
  ["one dot", "."],
  ["three dots", "..."],
  ["encoded dots", "%2e%2e"],
  ["encoded dots and slash", "%2e%2e%2f"],
  ["a way to /etc/passwd", "..%2f..%2f..%2fetc%2fpasswd"],
  ["a way with backslashes", "..%5c..%5cetc%5cpasswd"],
  ["an absolute path", "%2fetc%2fpasswd"],
  ["a Windows path", "C:%5cboot.ini"],
  ["double encoding", "%252e%252e%252fetc%252fpasswd"],
  ["triple encoding", "%25252e%25252e"],
  ["overlong UTF-8 for a slash", "%c0%af..%c0%af"],
  ["overlong UTF-8 in three bytes", "%e0%80%af"],
  ["overlong UTF-8 for a NUL", "%c0%80"],
  ["a surrogate in UTF-8", "%ed%a0%80"],
  ["a code point too large", "%f4%90%80%80"],
  ["a byte that is no UTF-8", "%ff"],
  ["half a character", "%e2%82"],
  ["a percent sign alone", "%"],
  ["half an escape", "%2"],
  ["an escape of no digits", "%zz"],
  ["an escape as IIS wrote them", "%u002e"],
  ["NUL", "%00"],
  ["NUL in the middle", "report%00.txt"],
  ["NUL, encoded twice", "%2500"],
  ["a new line and a header", "x%0d%0aSet-Cookie:%20a=b"],
  ["a bell", "%07"],
  ["a no-break space", "%c2%a0"],
  ["a mark that turns text around", "%e2%80%ae"],
  ["a byte order mark", "%ef%bb%bf"],
  ["an emoji", "%f0%9f%92%a9"],
  ["a full-width dot", "%ef%bc%8e%ef%bc%8e"],
  ["SQL that is always true", "'%20or%20'1'='1"],
  ["SQL that drops", "1;drop%20table%20executions--"],
  ["SQL that sleeps", "1%20union%20select%20pg_sleep(5)"],
  ["a shell", "$(id)%60id%60;id%7cid"],
  ["a template", "%7b%7b7*7%7d%7d$%7b7*7%7d"],
  ["markup", "%3cscript%3ealert(1)%3c%2fscript%3e"],
  ["a look-up of the logger's", "$%7bjndi:ldap:%2f%2fexample.test%2fa%7d"],
  ["__proto__", "__proto__"],
  ["constructor", "constructor"],
  ["toString", "toString"],
  ["undefined", "undefined"],
  ["null", "null"],
  ["a number", "1"],
  ["a negative number", "-1"],
  ["a huge number", "9".repeat(400)],
  ["a wildcard", "*"],
  ["a wildcard of SQL", "%25"],
  ["a parameter of a path", ";jsessionid=1"],
  ["a colon", ":executionId"],
  ["4,000 letters", "a".repeat(4_000)],
  ["4,000 escapes", "%61".repeat(4_000)],
  ["4,000 dots", ".".repeat(4_000)],
];

const onRoutes = SEGMENTS.flatMap(([what, segment]): Entry[] => [
  {
    name: `an execution called ${what}`,
    send: (target) => aKeyedRequest(target, "GET", `/api/run-logs/${segment}`),
    statuses: [400, 404],
  },
  {
    name: `a file called ${what}`,
    send: (target) => aKeyedRequest(target, "GET", filePath(target, segment)),
    statuses: [400, 404],
  },
  {
    name: `a workflow called ${what}`,
    send: (target) =>
      aKeyedRequest(target, "POST", `/api/workflows/${segment}/execute`, {
        body: "{}",
        headers: [["Content-Type", "application/json"]],
      }),
    statuses: [400, 404],
  },
]);

type Variant = readonly [string, (id: string) => string, readonly number[]];

/** Spellings of an id that exists: only the exact one is it. */
const SPELLINGS: readonly Variant[] = [
  ["in upper case", (id) => id.toUpperCase(), [404]],
  ["with a dot after it", (id) => `${id}.`, [404]],
  ["with a space after it", (id) => `${id}%20`, [404]],
  ["with a new line after it", (id) => `${id}%0a`, [404]],
  ["with a NUL after it", (id) => `${id}%00`, [404]],
  ["with .json after it", (id) => `${id}.json`, [404]],
  ["with a parameter after it", (id) => `${id};v=1`, [404]],
  ["with another after a comma", (id) => `${id},${id}`, [404]],
  ["with a space before it", (id) => `%20${id}`, [404]],
  ["behind dots", (id) => `../run-logs/${id}`, [404]],
  ["behind a dot", (id) => `./${id}`, [404]],
  ["in quotes", (id) => `%22${id}%22`, [404]],
  ["without its last letter", (id) => id.slice(0, -1), [404]],
  ["with a letter more", (id) => `${id}0`, [404]],
  ["with letters that look alike", (id) => id.replace("e", "%d0%b5"), [404]],
];

const spelled = SPELLINGS.map(
  ([what, spell, statuses]): Entry => ({
    name: `an execution's id ${what}`,
    send: (target) => aKeyedRequest(target, "GET", `/api/run-logs/${spell(target.executionId)}`),
    statuses,
  }),
);

const under = (what: string, rest: string, statuses: readonly number[]): Entry => ({
  name: `an execution, then ${what}`,
  send: (target) => aKeyedRequest(target, "GET", `/api/run-logs/${target.executionId}${rest}`),
  statuses,
});

export const PATH_ENTRIES: readonly Entry[] = [
  ...onRoutes,
  ...spelled,
  under("two slashes", "//", [404]),
  under("files and nothing", "/files", [200]),
  under("files and a slash", "/files/", [200]),
  under("a file and a slash more", "/files/report.txt/x", [404]),
  under("a file under dots", "/files/../files/report.txt", [404]),
  under("a file with a dot after it", "/files/report.txt.", [404]),
  under("a file with a stream", "/files/report.txt::$DATA", [404]),
  under("a file in upper case", "/files/REPORT.TXT", [404]),
  under("a file with a space after it", "/files/report.txt%20", [404]),
  under("what a storage key looks like", "/files/..%2f..%2flog.ndjson", [404]),
  under("logs of dots", "/logs/..", [404]),
  under("an unknown word", "/inputs", [404]),
  {
    name: "the routes of the operator without a token",
    send: (target) => aKeyedRequest(target, "GET", "/api/accounts"),
    statuses: [401, 404],
  },
  {
    name: "the API in upper case",
    send: (target) => aKeyedRequest(target, "GET", "/API/SESSION"),
    statuses: [401, 404],
  },
  {
    name: "a way out of the API",
    send: () => aKeyedRequest({ apiKey: "x" } as never, "GET", "/api/..%2fhealthz"),
    statuses: [404],
  },
  { name: "figures under the API", send: (target) => aKeyedRequest(target, "GET", "/api/metrics"), statuses: [404] },
  { name: "a dot file", send: (target) => aKeyedRequest(target, "GET", "/.git/config"), statuses: [404] },
  { name: "a data folder", send: (target) => aKeyedRequest(target, "GET", "/.treadle/ready.json"), statuses: [404] },
];
