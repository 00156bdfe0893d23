import { readdirSync } from "node:fs";
import { expect, test } from "@jest/globals";
import { type Library, readLibrary, renderDocument } from "../../src/http/docs/library.ts";
import { aFileService } from "./service.ts";

const FOLDER = new URL("../../docs/", import.meta.url);
const POLICY =
  "default-src 'none'; style-src 'self'; font-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

const service = await aFileService();

/** Addresses of the page's links, as a browser finds them. */
function listLinks(html: string, page: string): string[] {
  return [...html.matchAll(/\b(?:href|action)="([^"]*)"/g)].map(([, link = ""]) => {
    const { origin, pathname } = new URL(link, `${service.url}${page}`);
    return origin === service.url ? pathname : `${origin}${pathname}`;
  });
}

/** The ids that a page has, and the places of others that it links to. */
function listAnchors(html: string, page: string): { ids: string[]; named: string[] } {
  return {
    ids: [...html.matchAll(/ id="([^"]*)"/g)].map(([, id = ""]) => `${page}#${decodeURIComponent(id)}`),
    named: [...html.matchAll(/href="([^"]*#[^"]*)"/g)].map(([, link = ""]) => {
      const { pathname, hash } = new URL(link, `${service.url}${page}`);
      return `${pathname}${decodeURIComponent(hash)}`;
    }),
  };
}

test("the documents, asked for without a slash, send a browser to the start page below any path", async () => {
  const answer = await service.call("/docs");
  expect([answer.status, answer.headers["location"]]).toEqual([308, "docs/"]);
});

test("the documents, as their style asks, have the fonts of the editor from the service itself", async () => {
  const style = (await service.call("/docs/documents.css")).text();
  const fonts = [...style.matchAll(/url\("([^"]+)"\)/g)].map(([, name]) => name);
  expect(fonts).toEqual(["geist.woff2", "geist-mono.woff2"]);
  for (const name of fonts) {
    const { status, headers } = await service.call(`/docs/${name}`);
    expect([name, status, headers["content-type"]]).toEqual([name, 200, "font/woff2"]);
  }
});

test("the documents, from the start page on, are all reachable, and every link leads to a place that is there", async () => {
  const pages = new Map<string, string>();
  const waiting = ["/docs/"];
  for (let page = waiting.pop(); page !== undefined; page = waiting.pop()) {
    if (pages.has(page)) continue;
    const answer = await service.call(page);
    expect([page, answer.status, answer.headers["content-type"]]).toEqual([page, 200, "text/html; charset=utf-8"]);
    expect(answer.headers["content-security-policy"]).toBe(POLICY);
    pages.set(page, answer.text());
    waiting.push(...listLinks(answer.text(), page).filter((link) => /^\/docs\/(?!documents\.css|search)/.test(link)));
  }
  const files = readdirSync(FOLDER, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".md"));
  const addresses = files.map((name) => `/docs/${name.replace(/\.md$/, "").replace(/(^|\/)README$/, "$1")}`);
  expect([...pages.keys()].sort()).toEqual(addresses.sort());
  const anchors = [...pages].map(([page, html]) => listAnchors(html, page));
  const ids = new Set(anchors.flatMap((each) => each.ids));
  expect(anchors.flatMap(({ named }) => named).filter((place) => !ids.has(place))).toEqual([]);
});

test("a page, as it is written, has no script, no style and nothing of another host", async () => {
  const html = (await service.call("/docs/operating")).text();
  expect(html).not.toMatch(/<script|<style|\son\w+=|\sstyle=|javascript:|src="/i);
  expect(html).toMatch(/<link rel="stylesheet" href="\.\/documents\.css">/);
  expect((await service.call("/docs/documents.css")).headers["content-type"]).toMatch(/^text\/css/);
});

test("a page of a folder, by its links, leads to the pages above it", async () => {
  const links = listLinks((await service.call("/docs/decisions/")).text(), "/docs/decisions/");
  expect(links).toEqual(expect.arrayContaining(["/docs/", "/docs/search", "/docs/python", "/", "/api/docs"]));
});

test("a search, for words of one section, shows that section first with its words", async () => {
  const html = (await service.call("/docs/search?q=restore+Backup")).text();
  const [, first = ""] = html.slice(html.indexOf('class="results"')).split("<li>");
  expect(first).toMatch(/^<a href="operating#backup-and-restore">/);
  expect(html).toContain('value="restore Backup"');
  expect((await service.call("/docs/search?q=zxqwv")).text()).toContain("Nothing was found.");
});

test("a search, for a text with signs of HTML, shows it as text", async () => {
  const html = (await service.call(`/docs/search?q=${encodeURIComponent('"><script>alert(1)</script>')}`)).text();
  expect(html).toContain('value="&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;"');
  expect(html).not.toContain("<script");
});

test.each(["/docs/nothing", "/docs/python.md", "/docs/decisions/nothing", "/docs/%2e%2e/README", "/docs/../README.md"])(
  "an unknown page, %s, is 404",
  async (path) => {
    expect((await service.call(path)).status).toBe(404);
  },
);

test("an unknown page, shown to a reader, has the contents to go on from", async () => {
  const html = (await service.call("/docs/nothing")).text();
  expect(html).toContain("No such page");
  expect(listLinks(html, "/docs/nothing")).toContain("/docs/first-workflow");
});

test("a document, with HTML and links to elsewhere in it, is shown without them", () => {
  const markdown =
    "# A\n<img src=x onerror=alert(1)> [a](javascript:alert(1)) [b](../ARCHITECTURE.md) [c](https://host/)\n";
  const library: Library = new Map([["a", { address: "a", title: "A", markdown, sections: [] }]]);
  const html = renderDocument(library, library.get("a") as NonNullable<ReturnType<Library["get"]>>);
  expect(html).toContain('<p>&lt;img src=x onerror=alert(1)&gt; a b <a href="https://host/">c</a></p>');
});

test("a library, of a folder that is missing, is empty", async () => {
  expect((await readLibrary("/nonexistent/docs")).size).toBe(0);
});
