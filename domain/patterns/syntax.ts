/** What a pattern is made of. An atom is the source text of something that matches exactly one character. */
export type PatternNode =
  | { readonly kind: "atom"; readonly source: string }
  | { readonly kind: "sequence"; readonly parts: readonly PatternNode[] }
  | { readonly kind: "choice"; readonly options: readonly PatternNode[] }
  | { readonly kind: "repeat"; readonly node: PatternNode; readonly min: number; readonly max: number | null };

export type PatternSyntax =
  | { readonly ok: true; readonly node: PatternNode }
  | { readonly ok: false; readonly message: string };

const NESTING_MAX = 50;
const ESCAPE =
  /\\(?:u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|u\{[\da-fA-F]+\}|u[\da-fA-F]{4}|x[\da-fA-F]{2}|c[A-Za-z]|[pP]\{[^}]*\}|[^])/uy;
const CLASS = /\[(?:\\[^]|[^\]\\])*\]/uy;
const QUANTIFIER = /(?:([*+?])|\{(\d+)(,(\d*))?\})\??/y;
const LITERAL = /[^]/uy;
const GROUP = /\((?:\?:|\?<[\p{L}_$][\p{L}\p{N}_$]*>)?/uy;

class Refusal extends Error {}

/**
 * Reads a pattern that `new RegExp(source, "u")` has accepted. Refuses, in words, what cannot be matched in linear
 * time: references back, lookaround and word boundaries. Refuses anchors elsewhere than at the ends, too.
 */
export function parsePattern(source: string): PatternSyntax {
  let at = 0;

  function take(expression: RegExp): RegExpExecArray | null {
    expression.lastIndex = at;
    const match = expression.exec(source);
    if (match) at += match[0].length;
    return match;
  }

  function readChoice(depth: number): PatternNode {
    if (depth > NESTING_MAX) throw new Refusal(`has groups nested deeper than ${NESTING_MAX}`);
    const options = [readSequence(depth)];
    while (source[at] === "|") {
      at += 1;
      options.push(readSequence(depth));
    }
    return options.length === 1 ? (options[0] as PatternNode) : { kind: "choice", options };
  }

  function readSequence(depth: number): PatternNode {
    const parts: PatternNode[] = [];
    if (depth === 0 && source[at] === "^") at += 1;
    while (at < source.length && source[at] !== "|" && source[at] !== ")") {
      if (depth === 0 && source[at] === "$" && (at + 1 === source.length || source[at + 1] === "|")) at += 1;
      else parts.push(readRepeated(readOne(depth)));
    }
    return { kind: "sequence", parts };
  }

  function readRepeated(node: PatternNode): PatternNode {
    const match = take(QUANTIFIER);
    if (!match) return node;
    const [, sign, least, comma, most] = match;
    if (sign !== undefined) return { kind: "repeat", node, min: sign === "+" ? 1 : 0, max: sign === "?" ? 1 : null };
    const min = Number(least);
    return { kind: "repeat", node, min, max: comma === undefined ? min : most === "" ? null : Number(most) };
  }

  function readOne(depth: number): PatternNode {
    if (source[at] === "(") return readGroup(depth);
    if (source[at] === "^" || source[at] === "$") {
      throw new Refusal(`has ${source[at]} inside; the whole value is always compared, so leave it out`);
    }
    if (source[at] === "\\") return readEscape();
    const atom = take(source[at] === "[" ? CLASS : LITERAL) as RegExpExecArray;
    return { kind: "atom", source: atom[0] };
  }

  function readGroup(depth: number): PatternNode {
    if (/^\(\?<?[=!]/.test(source.slice(at, at + 4))) {
      throw new Refusal("looks ahead or behind, which is not supported; say what may stand there instead");
    }
    take(GROUP);
    const node = readChoice(depth + 1);
    at += 1;
    return node;
  }

  function readEscape(): PatternNode {
    const next = source[at + 1] ?? "";
    if (/[1-9k]/.test(next)) {
      throw new Refusal(`refers back to a group (\\${next}), which is not supported; write the repeated part again`);
    }
    if (/b/i.test(next)) throw new Refusal(`has a word boundary (\\${next}), which is not supported; leave it out`);
    return { kind: "atom", source: (take(ESCAPE) as RegExpExecArray)[0] };
  }

  try {
    return { ok: true, node: readChoice(0) };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return { ok: false, message: error.message };
  }
}
