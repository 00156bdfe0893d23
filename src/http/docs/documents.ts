import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Request, RequestHandler, Response } from "express";
import { readColours } from "../web/colours.ts";
import { escapeText } from "../web/pages.ts";
import { type Library, linkPages, listContents, readLibrary, renderDocument } from "./library.ts";
import { searchLibrary } from "./search.ts";

const HERE = dirname(fileURLToPath(import.meta.url));
const require = createRequire(import.meta.url);
/** Beside `src` in a checkout, and in `dist`, where the build puts a copy. */
const DOCUMENTS = join(HERE, "../../../docs");
/** What the pages are made of beside their text: the style, and the fonts that the editor has. */
const PARTS: Readonly<Record<string, string>> = {
  "documents.css": join(HERE, "documents.css"),
  "geist.woff2": require.resolve("@fontsource-variable/geist/files/geist-latin-wght-normal.woff2"),
  "geist-mono.woff2": require.resolve("@fontsource-variable/geist-mono/files/geist-mono-latin-wght-normal.woff2"),
};
const STYLE = "documents.css";
const SEARCH = "search";
/** No script at all, and nothing of another host. */
const POLICY = [
  "default-src 'none'",
  "style-src 'self'",
  "font-src 'self'",
  "img-src 'self' data:",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join("; ");

/** What a page shows beside what all pages have. */
interface Page {
  readonly address: string;
  readonly title: string;
  readonly query?: string;
  readonly body: string;
}

/**
 * Serves the folder `docs` below the path it is mounted at: each document as a page, and a search. Every link is relative, so
 * a proxy may put the service below a path of its own. Documents are read once, at the first request.
 */
export function createDocuments(folder = DOCUMENTS): RequestHandler {
  let reading: Promise<Library> | undefined;
  const bodies = new Map<string, string>();
  const load = (): Promise<Library> => {
    reading ??= readLibrary(folder);
    // One that failed is tried again.
    reading.catch(() => (reading = undefined));
    return reading;
  };
  return async (request, response, next) => {
    if (!["GET", "HEAD"].includes(request.method)) return next();
    // `/docs` itself: its links are relative to the folder.
    if (!request.originalUrl.split("?")[0]?.startsWith(`${request.baseUrl}/`))
      return response.redirect(308, `${request.baseUrl.split("/").at(-1)}/`);
    const address = request.path.slice(1);
    const part = Object.hasOwn(PARTS, address) ? PARTS[address] : undefined;
    if (part !== undefined)
      return void response
        .set("Cache-Control", "no-cache")
        .type(extname(part))
        .send(await readFile(part));
    const library = await load();
    if (address === SEARCH) return sendPage(library, createResults(library, request), request, response);
    const document = library.get(address);
    if (document === undefined) return sendPage(library, MISSING, request, response.status(404));
    const body = bodies.get(address) ?? renderDocument(library, document);
    bodies.set(address, body);
    sendPage(library, { ...document, body }, request, response);
  };
}

const MISSING: Page = {
  address: "",
  title: "No such page",
  body: "<h1>No such page</h1>\n<p>The documentation has no page at this address. Choose one below, or search for it.</p>",
};

function createResults(library: Library, request: Request): Page {
  const query = typeof request.query["q"] === "string" ? request.query["q"] : "";
  const found = searchLibrary(library, query);
  const count =
    found.length === 0 ? "Nothing was found." : `${found.length} ${found.length === 1 ? "place" : "places"}.`;
  const items = found.map(({ document, section, excerpt }) => {
    const link = `${linkPages("", document.address)}#${section.anchor}`;
    const name = section.heading === document.title ? document.title : `${document.title}: ${section.heading}`;
    return `<li><a href="${escapeText(link)}">${escapeText(name)}</a><p>${escapeText(excerpt)}</p></li>`;
  });
  const body = `<h1>Search</h1>\n<p>${query === "" ? "Type what you look for above." : count}</p>\n<ul class="results">${items.join("\n")}</ul>`;
  return { address: "", title: "Search", query, body };
}

function sendPage(library: Library, page: Page, request: Request, response: Response): void {
  response
    .set({ "Content-Security-Policy": POLICY, "Cache-Control": "no-cache" })
    .type("html")
    .send(renderPage(library, page, readColours(request)));
}

function renderPage(library: Library, { address, title, query = "", body }: Page, colours: string | undefined): string {
  const root = linkPages(address, "");
  const contents = listContents(library).map(
    ({ heading, documents }) =>
      `<h2>${escapeText(heading)}</h2>\n<ul>${documents.map((each) => `<li><a href="${linkPages(address, each.address)}"${each.address === address ? ' aria-current="page"' : ""}>${escapeText(each.title)}</a></li>`).join("")}</ul>`,
  );
  return `<!doctype html>
<html lang="en"${colours === undefined ? "" : ` data-colours="${colours}"`}>
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>${escapeText(title)} – Treadle</title>
    <link rel="icon" href="data:,">
    <link rel="stylesheet" href="${root}${STYLE}">
  </head>
  <body>
    <header>
      <a class="home" href="${root}">Treadle documentation</a>
      <form action="${root}${SEARCH}" role="search">
        <input type="search" name="q" value="${escapeText(query)}" aria-label="Search the documentation" placeholder="Search">
        <button>Search</button>
      </form>
      <a href="${root}../">Editor</a>
      <a href="${root}../api/docs">Try the API</a>
      <a class="to-contents" href="#contents">Contents</a>
    </header>
    <main>
${body}
    </main>
    <nav id="contents" aria-label="Contents">
${contents.join("\n")}
    </nav>
  </body>
</html>
`;
}
