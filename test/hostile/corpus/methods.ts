import { aKeyedRequest, aRequest, type Entry, executePath, filePath, type Target } from "../requests.ts";

const ADDRESSES: readonly (readonly [string, (target: Target) => string, readonly string[]])[] = [
  ["execute", executePath, ["POST"]],
  ["an execution", ({ executionId }) => `/api/run-logs/${executionId}`, ["GET", "HEAD"]],
  ["a file", (target) => filePath(target), ["GET", "HEAD"]],
  ["a log", ({ executionId }) => `/api/run-logs/${executionId}/logs`, ["GET", "HEAD"]],
  ["cancel", ({ executionId }) => `/api/run-logs/${executionId}/cancel`, ["POST"]],
  ["the session", () => "/api/session", ["GET", "POST", "DELETE", "HEAD"]],
  ["health", () => "/healthz", ["GET", "HEAD"]],
];

const METHODS = [
  "GET",
  "HEAD",
  "POST",
  "PUT",
  "DELETE",
  "PATCH",
  "OPTIONS",
  "TRACE",
  "PROPFIND",
  "M-SEARCH",
  "PURGE",
  "SOURCE",
];

const wrongMethods = ADDRESSES.flatMap(([place, path, allowed]) =>
  METHODS.filter((method) => !allowed.includes(method)).map(
    (method): Entry => ({
      name: `${method} of ${place}`,
      send: (target) => aKeyedRequest(target, method, path(target)),
      statuses: [405],
      isHead: method === "HEAD",
    }),
  ),
);

const NO_METHODS = [
  "get",
  "Get",
  "POSTT",
  "G",
  "GE T",
  "GET\t",
  "G\0T",
  "GÉT",
  "GET,POST",
  "A".repeat(10_000),
  "PRI",
  "",
];

const noMethods = NO_METHODS.map(
  (method): Entry => ({
    name: `method ${JSON.stringify(method.slice(0, 20))}`,
    send: () => aRequest(method, "/healthz"),
    statuses: [400],
  }),
);

const override = ["X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override", "_method"].map(
  (header): Entry => ({
    name: `a GET that ${header} calls a POST`,
    send: (target) => aKeyedRequest(target, "GET", executePath(target), { headers: [[header, "POST"]] }),
    statuses: [405],
  }),
);

export const METHOD_ENTRIES: readonly Entry[] = [
  ...wrongMethods,
  ...noMethods,
  ...override,
  {
    name: "CONNECT to another host",
    send: () => aRequest("CONNECT", "example.test:443", { host: "example.test:443" }),
    statuses: [400, 405],
  },
  { name: "CONNECT with a path", send: () => aRequest("CONNECT", "/api/session"), statuses: [400, 404, 405] },
  {
    name: "a method in the query",
    send: (target) => aKeyedRequest(target, "GET", `${executePath(target)}?_method=POST`),
    statuses: [405],
  },
];
