import type { Document, Library, Section } from "./library.ts";

const WORDS_MAX = 10;
const RESULTS_MAX = 40;
const EXCERPT_CHARACTERS = 200;
/** Of the excerpt, what stands before the word that was found. */
const BEFORE_CHARACTERS = 60;
/** A word in the name of a page or of a section says more about it than one in its text. */
const HEADING_SCORE = 3;
const TITLE_SCORE = 2;

/** A section that has every word of a query. */
export interface Found {
  readonly document: Document;
  readonly section: Section;
  readonly excerpt: string;
}

/** Returns the sections that have every word of the query, those with the words in their names first, 40 at most. */
export function searchLibrary(library: Library, query: string): Found[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean).slice(0, WORDS_MAX);
  if (words.length === 0) return [];
  return Array.from(library.values())
    .flatMap((document) => document.sections.map((section) => ({ document, section })))
    .map((place) => ({ ...place, score: rate(place, words) }))
    .filter(({ score }) => score > 0)
    .sort((one, other) => other.score - one.score)
    .slice(0, RESULTS_MAX)
    .map(({ document, section }) => ({ document, section, excerpt: cutExcerpt(section.text, words) }));
}

/** Returns 0 when a word is missing. */
function rate({ document, section }: Omit<Found, "excerpt">, words: readonly string[]): number {
  const [title, heading, text] = [document.title, section.heading, section.text].map((each) => each.toLowerCase());
  const scores = words.map(
    (word) =>
      (heading?.includes(word) ? HEADING_SCORE : 0) +
      (title?.includes(word) ? TITLE_SCORE : 0) +
      (text?.includes(word) ? 1 : 0),
  );
  // A page's title alone would find all of its sections.
  const isInSection = words.some((word) => heading?.includes(word) || text?.includes(word));
  return isInSection && scores.every((score) => score > 0) ? scores.reduce((sum, score) => sum + score, 0) : 0;
}

function cutExcerpt(text: string, words: readonly string[]): string {
  const places = words.map((word) => text.toLowerCase().indexOf(word)).filter((place) => place >= 0);
  const first = Math.min(...places, text.length);
  // At a word's beginning.
  const start = first <= BEFORE_CHARACTERS ? 0 : text.indexOf(" ", first - BEFORE_CHARACTERS) + 1;
  const excerpt = text.slice(start, start + EXCERPT_CHARACTERS).trim();
  return `${start > 0 ? "… " : ""}${excerpt}${start + EXCERPT_CHARACTERS < text.length ? " …" : ""}`;
}
