import { type ClientRequest, type IncomingMessage, request as requestPlain } from "node:http";
import { Agent, request as requestSecurely } from "node:https";
import { pipeline } from "node:stream/promises";
import type { Request, RequestHandler, Response } from "express";
import { PAGES_PATH, type PagesTarget } from "../../setup/servers/temporal-proxy.ts";
import type { AppDeps } from "../deps.ts";
import { ApiError } from "../errors.ts";
import { authorizePages } from "./access.ts";
import { temporalPolicy } from "./policy.ts";

/** Printable ASCII without what servers read differently: no encoded separators, dots, NULs or percent signs, no backslash. */
const ADDRESS = /^\/temporal(?:\/[\w~:@!$&'()*+,;=.%-]+)*\/?(?:\?[\x21-\x7e]*)?$/;
const AMBIGUOUS = /%(?:2f|5c|2e|00|25)|%(?![\da-f]{2})|\/\.{1,2}(?:\/|$)/i;
/** What the pages need of the caller's. Never a cookie or a token. */
const ASKED = ["accept", "accept-encoding", "content-type", "content-length", "if-none-match", "if-modified-since"];
const ANSWERED = ["content-type", "content-length", "content-encoding", "etag", "last-modified", "vary"];
const SETTINGS = `${PAGES_PATH}/api/v1/settings`;
/** Its answer has a policy of its own, and no scripts. */
const MARKDOWN = `${PAGES_PATH}/render`;
/** Their names change with their content. */
const UNCHANGING = `${PAGES_PATH}/_app/immutable/`;
/** The longest poll of a page takes a minute. */
const SILENCE_MAX_MS = 90_000;
const SOCKETS_MAX = 32;
/** A page is three kilobytes. */
const REWRITTEN_BYTES_MAX = 1_048_576;

type PagesDeps = Pick<AppDeps, "db" | "apiUrl"> & { readonly target: PagesTarget };

/**
 * Shows the pages of our own Temporal to owners, below `/temporal/`: every request is authorised here, and goes on without
 * anything that says who asks. Browsers that nobody is signed in with are sent to the sign-in, and come back.
 */
export function createTemporalPages(deps: PagesDeps): RequestHandler {
  const { target } = deps;
  const isGuarded = target.ca !== undefined;
  const agent = isGuarded ? new Agent({ keepAlive: true, maxSockets: SOCKETS_MAX }) : undefined;
  const ask = (options: PagesTarget): ClientRequest =>
    isGuarded ? requestSecurely({ ...target, ...options, agent }) : requestPlain({ ...target, ...options });
  return async (request, response) => {
    const [path = ""] = request.originalUrl.split("?");
    if (!ADDRESS.test(request.originalUrl) || AMBIGUOUS.test(path))
      throw new ApiError("not_found", "Temporal's pages have no such address.");
    try {
      await authorizePages(deps.db, request, path.slice(PAGES_PATH.length));
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== "unauthorized" || !asksForPage(request)) throw error;
      return response.redirect(303, `/sign-in?from=${encodeURIComponent(request.originalUrl)}`);
    }
    const answer = await forward(ask, request, response);
    await hand({ ...deps, path }, answer, request, response);
  };
}

function forward(
  ask: (options: PagesTarget) => ClientRequest,
  request: Request,
  response: Response,
): Promise<IncomingMessage> {
  const headers: Record<string, string> = { host: "localhost", authorization: "none" };
  for (const name of ASKED) headers[name] = request.get(name) ?? "";
  // Pages are rewritten, and the server's own check of writes is for cookies, which there are none of.
  if (asksForPage(request) || request.originalUrl.startsWith(SETTINGS)) headers["accept-encoding"] = "identity";
  for (const name of ASKED) if (headers[name] === "") delete headers[name];
  return new Promise((resolve, reject) => {
    const asked = ask({ method: request.method, path: request.originalUrl, headers });
    const fail = (): void =>
      reject(
        new ApiError(
          "no_capacity",
          "Temporal does not answer now. Try again in 5 seconds.",
          {},
          { "Retry-After": "5" },
        ),
      );
    asked.setTimeout(SILENCE_MAX_MS, () => asked.destroy());
    asked.once("error", fail);
    asked.once("close", fail);
    asked.once("response", resolve);
    response.once("close", () => asked.destroy());
    request.pipe(asked);
  });
}

async function hand(
  { path, apiUrl }: Pick<AppDeps, "apiUrl"> & { path: string },
  answer: IncomingMessage,
  request: Request,
  response: Response,
): Promise<void> {
  response.status(answer.statusCode ?? 502);
  for (const name of ANSWERED) {
    const value = answer.headers[name];
    if (value !== undefined) response.set(name, value);
  }
  // A window that these pages open, or that opened them, is none of theirs.
  response.set("Cross-Origin-Opener-Policy", "same-origin-allow-popups");
  response.set("Cache-Control", path.startsWith(UNCHANGING) ? "private, max-age=31536000, immutable" : "no-store");
  if (answer.headers.location?.startsWith(`${PAGES_PATH}/`) === true) response.set("Location", answer.headers.location);
  if (path === MARKDOWN) {
    response.set("Content-Security-Policy", answer.headers["content-security-policy"] ?? "sandbox");
    response.set("X-Frame-Options", "SAMEORIGIN");
  } else if (isHtml(answer)) {
    const page = await readText(answer);
    const hosts = [request.get("host") ?? "", new URL(apiUrl()).host];
    response.set("Content-Security-Policy", temporalPolicy(page, hosts, PAGES_PATH)).removeHeader("Content-Length");
    return void response.end(page);
  } else if (path === SETTINGS && answer.statusCode === 200 && request.method === "GET") {
    // Its buttons would all be refused, and so would news of another host.
    const settings = JSON.parse(await readText(answer)) as object;
    response.removeHeader("Content-Length");
    return void response.end(JSON.stringify({ ...settings, DisableWriteActions: true, DisableNewsFetch: true }));
  }
  await pipeline(answer, response);
}

async function readText(answer: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > REWRITTEN_BYTES_MAX) throw new Error("Temporal answered with a page that is far too long.");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function isHtml(answer: IncomingMessage): boolean {
  return answer.headers["content-type"]?.startsWith("text/html") ?? false;
}

/** Whether a browser asks for a page, by name. */
function asksForPage(request: Request): boolean {
  return request.method === "GET" && (request.get("accept")?.includes("text/html") ?? false);
}
