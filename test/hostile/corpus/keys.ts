import { aKeyedRequest, aRequest, type Entry, executePath } from "../requests.ts";

const path = (target: { executionId: string }): string => `/api/run-logs/${target.executionId}`;

/** Whatever is not exactly the workflow's own key opens nothing. */
const KEYS: readonly (readonly [string, (key: string) => readonly (readonly [string, string])[]])[] = [
  ["no key", () => []],
  ["an empty key", () => [["x-api-key", ""]]],
  ["spaces for a key", () => [["x-api-key", "   "]]],
  [
    "the key twice",
    (key) => [
      ["x-api-key", key],
      ["x-api-key", key],
    ],
  ],
  [
    "the key after a wrong one",
    (key) => [
      ["x-api-key", "wrong"],
      ["x-api-key", key],
    ],
  ],
  ["the key and a comma", (key) => [["x-api-key", `${key},`]]],
  ["the key in upper case", (key) => [["x-api-key", key.toUpperCase()]]],
  ["the key without its last letter", (key) => [["x-api-key", key.slice(0, -1)]]],
  ["the key and a letter more", (key) => [["x-api-key", `${key}0`]]],
  ["the key in quotes", (key) => [["x-api-key", `"${key}"`]]],
  ["the key as a bearer token", (key) => [["Authorization", `Bearer ${key}`]]],
  ["the key as basic credentials", (key) => [["Authorization", `Basic ${Buffer.from(`:${key}`).toString("base64")}`]]],
  ["the key in a cookie", (key) => [["Cookie", `x-api-key=${key}`]]],
  ["a key of 15,000 letters", () => [["x-api-key", "k".repeat(15_000)]]],
  ["a key above ASCII", () => [["x-api-key", "trd_\xff\xfe\xc3\xa9"]]],
  ["a key of SQL", () => [["x-api-key", "' or '1'='1"]]],
  ["a key of JSON", () => [["x-api-key", '{"$ne":null}']]],
  ["a key called null", () => [["x-api-key", "null"]]],
  ["a hash for a key", () => [["x-api-key", "0".repeat(64)]]],
  [
    "a key under another name",
    (key) => [
      ["x_api_key", key],
      ["api-key", key],
    ],
  ],
];

const keys = KEYS.flatMap(([what, headers]): Entry[] => [
  {
    name: `execute with ${what}`,
    send: (target) =>
      aRequest("POST", executePath(target), {
        body: "{}",
        headers: [["Content-Type", "application/json"], ...headers(target.apiKey)],
      }),
    statuses: [401],
  },
  {
    name: `an execution with ${what}`,
    send: (target) => aRequest("GET", path(target), { headers: headers(target.apiKey) }),
    statuses: [401],
  },
]);

export const KEY_ENTRIES: readonly Entry[] = [
  ...keys,
  {
    name: "a key of 1 MB",
    send: (target) => aRequest("GET", path(target), { headers: [["x-api-key", "k".repeat(1_000_000)]] }),
    statuses: [400, 431],
  },
  {
    name: "the key with spaces around it",
    send: (target) => aRequest("GET", path(target), { headers: [["x-api-key", `  ${target.apiKey}\t`]] }),
    statuses: [200],
  },
  {
    name: "the key under its name in capitals",
    send: (target) => aRequest("GET", path(target), { headers: [["X-API-KEY", target.apiKey]] }),
    statuses: [200],
  },
  {
    name: "the key of another workflow",
    send: (target) => aKeyedRequest({ ...target, apiKey: target.foreignKey }, "GET", path(target)),
    statuses: [401],
  },
  {
    name: "a session cookie that is made up",
    send: (target) => aRequest("GET", path(target), { headers: [["Cookie", `__Host-session=${"A".repeat(43)}`]] }),
    statuses: [401],
  },
  {
    name: "a session cookie of 10,000 letters",
    send: (target) => aRequest("GET", path(target), { headers: [["Cookie", `__Host-session=${"A".repeat(10_000)}`]] }),
    statuses: [401],
  },
  {
    name: "a good session and a wrong key",
    send: (target) =>
      aRequest("GET", path(target), {
        headers: [
          ["Cookie", target.cookie],
          ["x-api-key", "wrong"],
        ],
      }),
    statuses: [401],
  },
  {
    name: "a good session and an empty key",
    send: (target) =>
      aRequest("GET", path(target), {
        headers: [
          ["Cookie", target.cookie],
          ["x-api-key", ""],
        ],
      }),
    statuses: [200, 401],
  },
  {
    name: "a signed link that nobody signed",
    send: (target) =>
      aRequest("GET", `${path(target)}/files/report.txt?expires=99999999999&signature=${"a".repeat(64)}`),
    statuses: [401],
  },
];
