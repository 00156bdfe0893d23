import { aRequest, type Entry, type RequestOptions } from "../requests.ts";

const signIn = (
  name: string,
  body: string | Buffer,
  statuses: readonly number[] = [400],
  options: RequestOptions = {},
): Entry => ({
  name: `sign-in: ${name}`,
  send: () => aRequest("POST", "/api/session", { body, headers: [["Content-Type", "application/json"]], ...options }),
  statuses,
});

const cookie = (name: string, value: string, statuses: readonly number[] = [401]): Entry => ({
  name: `cookie: ${name}`,
  send: () => aRequest("GET", "/api/session", { headers: [["Cookie", value]] }),
  statuses,
});

/** Few that reach the password: each costs the time of a hash, and thirty are the limit. */
export const SESSION_ENTRIES: readonly Entry[] = [
  signIn("nothing", ""),
  signIn("an empty object", "{}"),
  signIn("a list", "[]"),
  signIn("null", "null"),
  signIn("numbers", '{"email":1,"password":2}'),
  signIn("operators of a database", '{"email":{"$ne":null},"password":{"$ne":null}}'),
  signIn("lists", '{"email":["a@example.test"],"password":["x"]}'),
  signIn("no password", '{"email":"a@example.test"}'),
  signIn("a password of null", '{"email":"a@example.test","password":null}'),
  signIn("an address of 400 letters", `{"email":"${"a".repeat(400)}","password":"x"}`),
  signIn("a password of 2,000 letters", `{"email":"a@example.test","password":"${"p".repeat(2_000)}"}`),
  signIn("a body of 20,000 bytes", `{"email":"a@example.test","password":"${"p".repeat(20_000)}"}`, [413]),
  signIn("__proto__", '{"__proto__":{"email":"a@example.test","password":"x"}}'),
  signIn("100,000 lists", "[".repeat(9_000)),
  signIn("a NUL in the address", '{"email":"a\\u0000@example.test","password":"x"}', [400, 401]),
  signIn("half a pair of surrogates in the address", '{"email":"\\ud800@example.test","password":"x"}', [400, 401]),
  signIn("a NUL in the password", '{"email":"a@example.test","password":"\\u0000"}', [400, 401]),
  signIn("half a pair of surrogates in the password", '{"email":"a@example.test","password":"\\ud800"}', [400, 401]),
  signIn("SQL in the address", `{"email":"' or 1=1 --","password":"x"}`, [401]),
  signIn("keys twice", '{"email":"a","email":"b@example.test","password":"x"}', [401]),
  signIn("bytes that are no UTF-8", Buffer.from([0x7b, 0xff, 0x7d])),
  signIn("text", "email=a", [415], { headers: [["Content-Type", "text/plain"]] }),
  signIn("no type", "{}", [400, 415], { headers: [] }),
  signIn("compressed", "{}", [400, 415], {
    headers: [
      ["Content-Type", "application/json"],
      ["Content-Encoding", "gzip"],
    ],
  }),
  signIn("from another website", '{"email":"a@example.test","password":"x"}', [403], {
    headers: [
      ["Content-Type", "application/json"],
      ["Sec-Fetch-Site", "cross-site"],
    ],
  }),
  signIn("from an origin of null", '{"email":"a@example.test","password":"x"}', [403], {
    headers: [
      ["Content-Type", "application/json"],
      ["Origin", "null"],
    ],
  }),
  cookie("none of ours", "a=b"),
  cookie("empty", "__Host-session="),
  cookie("made up", `__Host-session=${"A".repeat(43)}`),
  cookie("in quotes", `__Host-session="${"A".repeat(43)}"`),
  cookie("twice", `__Host-session=${"A".repeat(43)}; __Host-session=${"B".repeat(43)}`),
  cookie("of SQL", "__Host-session=' or 1=1 --"),
  cookie("of 10,000 letters", `__Host-session=${"A".repeat(10_000)}`),
  cookie("of equals signs", "=".repeat(5_000)),
  cookie("of semicolons", ";".repeat(5_000)),
  cookie("above ASCII", "__Host-session=\xff\xfe"),
  { name: "sign-out without a session", send: () => aRequest("DELETE", "/api/session"), statuses: [200] },
  {
    name: "sign-out with a session that is made up",
    send: () =>
      aRequest("DELETE", "/api/session", {
        headers: [
          ["Cookie", `__Host-session=${"A".repeat(43)}`],
          ["Origin", "https://localhost"],
        ],
      }),
    statuses: [200],
  },
  {
    name: "sign-out by another website",
    send: (target) =>
      aRequest("DELETE", "/api/session", {
        headers: [
          ["Cookie", target.cookie],
          ["Origin", "https://evil.test"],
        ],
      }),
    statuses: [403],
  },
];
