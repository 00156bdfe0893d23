import { Lexer, type Token } from "marked";

/** Of a text, and of all texts of a notebook together. Reading takes a few seconds for a hostile one, and a tenth of a second for others. */
export const MARKDOWN_CHARACTERS_MAX = 100_000;
/** Deeper nesting than anybody writes would end the stack of the browser. */
const DEPTH_MAX = 40;
const MARKS = /[*_~]/g;
/**
 * Reading takes time with the square of the marks of emphasis in one paragraph: 20 to 60 ns for each pair. So `_a*` 33,000 times keeps a
 * page for a minute and more. 3,000 marks in one paragraph are still read, and any number of names_with_lines in the cells of a table.
 */
const MARK_PAIRS_MAX = 10_000_000;

/** Returns the elements of a Markdown text; undefined: it is too long, nests too deeply, or takes too long to read. */
export function readTokens(text: string): Token[] | undefined {
  if (text.length > MARKDOWN_CHARACTERS_MAX) return undefined;
  try {
    const lexer = new Lexer();
    lexer.blockTokens(text.replaceAll(/\r\n?/g, "\n"), lexer.tokens);
    const pairs = lexer.inlineQueue.reduce((sum, { src }) => sum + (src.match(MARKS)?.length ?? 0) ** 2, 0);
    if (pairs > MARK_PAIRS_MAX) return undefined;
    for (const { src, tokens } of lexer.inlineQueue) lexer.inlineTokens(src, tokens);
    return isTooDeep(lexer.tokens, 0) ? undefined : lexer.tokens;
  } catch (error) {
    // Of nesting that the reader could not follow.
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

function isTooDeep(tokens: readonly Token[], depth: number): boolean {
  if (depth > DEPTH_MAX) return true;
  return tokens.some((token) => {
    const inner = token.type === "list" ? token.items : "tokens" in token ? token.tokens : undefined;
    return inner !== undefined && isTooDeep(inner, depth + 1);
  });
}
