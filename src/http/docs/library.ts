import { readdir, readFile } from "node:fs/promises";
import { join, posix } from "node:path";
import { Marked, type Tokens } from "marked";
import { escapeText } from "../web/pages.ts";

/** The file that a folder opens with, as git hosts do it. */
const START = /(^|\/)README$/;
const HEADING = /^(#{1,4}) (.+)$/;
const FENCE = /^\s*```/;

/** A part of a document, from one heading to the next. */
export interface Section {
  readonly heading: string;
  /** The heading's id in the page, as git hosts make it. */
  readonly anchor: string;
  readonly text: string;
}

/** A document under its address below `/docs/`: `""` is the start page, `decisions/` another one. */
export interface Document {
  readonly address: string;
  readonly title: string;
  readonly markdown: string;
  readonly sections: readonly Section[];
}

export type Library = ReadonlyMap<string, Document>;

/** Reads every `.md` file of a folder and of the folders in it, by address. Returns none where the folder is missing. */
export async function readLibrary(folder: string): Promise<Library> {
  const names = await readdir(folder, { recursive: true }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT") throw error;
    return [];
  });
  const paths = names.filter((name) => name.endsWith(".md")).sort();
  const documents = await Promise.all(
    paths.map(async (path) => toDocument(path, await readFile(join(folder, path), "utf8"))),
  );
  return new Map(documents.map((document) => [document.address, document]));
}

function toDocument(path: string, markdown: string): Document {
  const sections = splitSections(markdown);
  return { address: toAddress(path), title: sections[0]?.heading ?? path, markdown, sections };
}

function toAddress(path: string): string {
  return path.replace(/\.md$/, "").replace(START, "$1");
}

function splitSections(markdown: string): Section[] {
  const sections: { heading: string; anchor: string; text: string }[] = [];
  let isCode = false;
  for (const line of markdown.split("\n")) {
    if (FENCE.test(line)) {
      isCode = !isCode;
      continue;
    }
    const [, , heading] = (isCode ? null : HEADING.exec(line)) ?? [];
    const last = sections.at(-1);
    if (heading !== undefined) sections.push({ heading: toPlain(heading), anchor: toAnchor(heading), text: "" });
    else if (last !== undefined) last.text += `${toPlain(line)} `;
  }
  return sections;
}

/** Leaves out the marks of Markdown, which nobody searches for. */
function toPlain(line: string): string {
  return line
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replaceAll(/[`*|]|^\s*[-#>]+|-{3,}/g, "")
    .replaceAll(/\s+/g, " ")
    .trim();
}

/** Returns the id that git hosts give a heading, so that one link works there and here. */
function toAnchor(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}_ -]/gu, "")
    .replaceAll(" ", "-");
}

/** Returns the address, relative to the page at `from`, of the page at `to`. */
export function linkPages(from: string, to: string): string {
  const up = "../".repeat(from.split("/").length - 1);
  return `${up}${to}` || "./";
}

/** Returns where a link in a document leads: an address in the library with its anchor, or undefined for another place. */
export function resolveLink(library: Library, from: string, href: string): { to: string; anchor: string } | undefined {
  const [file = "", anchor = ""] = href.split("#");
  const to = file === "" ? from : toAddress(posix.join(posix.dirname(`${from}.`), file));
  return library.has(to) && !/^[a-z]+:/i.test(href) ? { to, anchor } : undefined;
}

/**
 * Returns a document as HTML. HTML in the document is shown as text. A link that leads elsewhere stays one only
 * when it begins with `https:`, because other files of the repository are not served.
 */
export function renderDocument(library: Library, { address, markdown }: Document): string {
  const marked = new Marked({
    renderer: {
      html: ({ text }) => escapeText(text),

      heading({ tokens, depth, text }) {
        return `<h${depth} id="${escapeText(toAnchor(text))}">${this.parser.parseInline(tokens)}</h${depth}>\n`;
      },
      link({ href, tokens }) {
        const text = this.parser.parseInline(tokens);
        const found = resolveLink(library, address, href);
        const target = found ? `${linkPages(address, found.to)}${found.anchor === "" ? "" : `#${found.anchor}`}` : href;
        return found || href.startsWith("https://") ? `<a href="${escapeText(target)}">${text}</a>` : text;
      },
    },
  });
  // What is wider than a phone scrolls by itself, also by the keyboard.
  return (marked.parse(markdown) as string)
    .replaceAll("<table>", '<div class="wide" tabindex="0" role="region" aria-label="Table"><table>')
    .replaceAll("</table>", "</table></div>")
    .replaceAll("<pre>", '<pre tabindex="0">');
}

/** Lists the documents in the order in which the start page links to them, under its headings. */
export function listContents(library: Library): { heading: string; documents: Document[] }[] {
  const groups: { heading: string; documents: Document[] }[] = [];
  const marked = new Marked();
  const tokens = marked.lexer(library.get("")?.markdown ?? "");
  void marked.walkTokens(tokens, (token) => {
    if (token.type === "heading" && (token as Tokens.Heading).depth === 2)
      groups.push({ heading: (token as Tokens.Heading).text, documents: [] });
    const found = token.type === "link" ? resolveLink(library, "", (token as Tokens.Link).href) : undefined;
    const document = library.get(found?.to ?? "");
    if (found !== undefined && document !== undefined) groups.at(-1)?.documents.push(document);
  });
  return groups;
}
