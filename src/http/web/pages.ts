import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Request, RequestHandler, Response } from "express";
import type { SessionDeps } from "../auth/sessions.ts";
import { readColours } from "./colours.ts";
import { readEmbeddedSession } from "./embedded-session.ts";
import { readPartLinks } from "./part-links.ts";
import { pagePolicy } from "./policy.ts";

/** First parts of the addresses that are pages of the editor. `web/src/app/router.tsx` says what is on them. */
const OWN_PARTS: ReadonlySet<string> = new Set(["sign-in", "join", "device", "workflows", "executions", "account"]);
/** Pages for people who are not signed in. Every other page shows them the sign-in. */
const SIGN_IN = "/sign-in";
const OPEN_PAGES: ReadonlySet<string> = new Set([SIGN_IN, "/join"]);
/** Where `web/index.html` wants the nonce, who is signed in, and links to what else the page consists of. */
const NONCE_PLACE = /__NONCE__/g;
const SESSION_PLACE = "__SESSION__";
const LINKS_PLACE = "</head>";
/** Where it has the chosen colours: an attribute, there only when chosen, and what browsers read first. */
const COLOURS_PLACE = / data-mantine-color-scheme="__COLOURS__"/;
const COLOUR_SCHEME_PLACE = "__COLOUR_SCHEME__";
const NONCE_BYTES = 16;
const MISSING =
  "This installation has no editor: it was built without the folder web. The API is below /api; docs/api.md describes it.\n";

/**
 * Serves the one page that the editor is at every address of a page, under a policy and a nonce of their own. An
 * address that does not exist gets the page with 404, because the page can say where to go on. Leaves alone what is not
 * asked for as a page.
 */
export function createPageRoute(folder: string, deps: SessionDeps): RequestHandler {
  return async (request, response, next) => {
    if (!["GET", "HEAD"].includes(request.method)) return next();
    const known = isPage(request.path);
    if (!known && !(asksForPage(request.get("accept")) && !looksLikeFile(request.path))) return next();
    const text = await readPage(folder);
    if (text === undefined && !known) return next();
    response.status(known && text !== undefined ? 200 : 404).set("Cache-Control", "no-store");
    if (text === undefined) response.type("text").send(MISSING);
    else await sendPage({ folder, text, deps }, request, response);
  };
}

async function sendPage(
  { folder, text, deps }: { folder: string; text: string; deps: SessionDeps },
  request: Request,
  response: Response,
): Promise<void> {
  const nonce = randomBytes(NONCE_BYTES).toString("base64");
  const colours = readColours(request);
  const session = await readEmbeddedSession(deps, request);
  const isSignIn = session === "none" && !OPEN_PAGES.has(request.path);
  const links = await readPartLinks(folder, isSignIn ? SIGN_IN : request.path);
  const page = text
    .replaceAll(NONCE_PLACE, nonce)
    .replace(COLOURS_PLACE, colours === undefined ? "" : ` data-mantine-color-scheme="${colours}"`)
    .replace(COLOUR_SCHEME_PLACE, colours ?? "light dark")
    .replace(LINKS_PLACE, `${links}${LINKS_PLACE}`)
    // Last, and by a function: people's texts may hold what would be replaced, or a $, which means something.
    .replace(SESSION_PLACE, () => escapeText(session));
  response.set("Content-Security-Policy", pagePolicy(nonce)).type("html").send(page);
}

const ESCAPES: Readonly<Record<string, string>> = { "&": "&amp;", '"': "&quot;", "<": "&lt;", ">": "&gt;" };

/** Returns text as it may stand in HTML, in an attribute too. */
export function escapeText(text: string): string {
  return text.replaceAll(/[&"<>]/g, (sign) => ESCAPES[sign] ?? sign);
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
