import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Request, RequestHandler, Response } from "express";
import { hasSessionCookie } from "../session-cookie.ts";
import { readColours } from "./colours.ts";
import { pagePolicy } from "./policy.ts";

/** First parts of the addresses that are pages of the editor. `web/src/app/router.tsx` says what is on them. */
const OWN_PARTS: ReadonlySet<string> = new Set(["sign-in", "join", "workflows", "executions", "account"]);
/** Where `web/index.html` wants the nonce, and whether there is a session to ask for. */
const NONCE_PLACE = /__NONCE__/g;
const SESSION_PLACE = "__SESSION__";
/** Where it has the colours that somebody has chosen: an attribute, which there is only then, and what browsers read first of all. */
const COLOURS_PLACE = / data-mantine-color-scheme="__COLOURS__"/;
const COLOUR_SCHEME_PLACE = "__COLOUR_SCHEME__";
const NONCE_BYTES = 16;
const MISSING =
  "This installation has no editor: it was built without the folder web. The API is below /api; docs/api.md describes it.\n";

/**
 * Answers addresses of pages with the one page that the editor is, under a policy and a nonce of their own. A browser that
 * asks for an address that does not exist gets the page as well, with 404, because the page can say where to go on. Leaves
 * alone what is not asked for as a page.
 */
export function createPageRoute(folder: string): RequestHandler {
  return async (request, response, next) => {
    if (!["GET", "HEAD"].includes(request.method)) return next();
    const known = isPage(request.path);
    if (!known && !(asksForPage(request.get("accept")) && !looksLikeFile(request.path))) return next();
    const text = await readPage(folder);
    if (text === undefined && !known) return next();
    response.status(known && text !== undefined ? 200 : 404).set("Cache-Control", "no-store");
    if (text === undefined) response.type("text").send(MISSING);
    else sendPage(request, response, text);
  };
}

function sendPage(request: Request, response: Response, text: string): void {
  const nonce = randomBytes(NONCE_BYTES).toString("base64");
  const colours = readColours(request);
  const page = text
    .replaceAll(NONCE_PLACE, nonce)
    // Without a cookie the page need not ask who is signed in to learn that nobody is.
    .replace(SESSION_PLACE, hasSessionCookie(request) ? "perhaps" : "none")
    .replace(COLOURS_PLACE, colours === undefined ? "" : ` data-mantine-color-scheme="${colours}"`)
    .replace(COLOUR_SCHEME_PLACE, colours ?? "light dark");
  response.set("Content-Security-Policy", pagePolicy(nonce)).type("html").send(page);
}

/** Read each time: it is a kilobyte, and a new build may have been made meanwhile. */
async function readPage(folder: string): Promise<string | undefined> {
  return readFile(join(folder, "index.html"), "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT" && error.code !== "ENOTDIR") throw error;
    return undefined;
  });
}

function isPage(path: string): boolean {
  const [, first = ""] = path.split("/");
  return first === "" ? path === "/" : OWN_PARTS.has(first);
}

/** Programs ask for anything or for JSON, browsers for HTML by name. */
function asksForPage(accept: string | undefined): boolean {
  return accept?.includes("text/html") ?? false;
}

function looksLikeFile(path: string): boolean {
  return path.slice(path.lastIndexOf("/") + 1).includes(".");
}
