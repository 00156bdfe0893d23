/** Words of a sentence, at most. A reader in a hurry follows one fact at a time. */
export const WORDS_MAX = 25;

/** Phrases that hide who does what. The value is what to write instead. */
const BANNED: readonly (readonly [RegExp, string])[] = [
  [/\b(?:is|are|was|were|be|been|being|gets?) told\b/i, "say who reports it, or what happens"],
  [/\bhears?\b|\bheard\b/i, "listens, receives, or what happens"],
  [/\bjudg(?:e|es|ed|ing|ement)\b/i, "validates, decides"],
  [/\b(?:whoever|whomever|whosever?)\b/i, "name the person: you, the caller, the operator"],
  [/\bwhatever\b/i, "any, everything, or name it"],
  [/\b(?:somebody|somebody's)\b/i, "name the person: you, the caller, the operator"],
  [/\bof those that\b|\bof those who\b/i, "name the thing again"],
  [/\bno more than that\b|\bbe that as it may\b/i, "leave it out"],
];
/** First words of a doc comment that say less than Returns, Reports or Sends. */
const VAGUE_VERB = /^(?:Answers|Says|Tells)\b/;

/** A sentence and what is wrong with it. */
export interface Complaint {
  readonly sentence: string;
  readonly problem: string;
}

/** Returns what is wrong with the prose of a Markdown document. Code, tables and comments are not prose. */
export function checkMarkdown(text: string): Complaint[] {
  const prose = text.replaceAll(/^([ \t]*)(```|~~~)[\s\S]*?\n\1\2[ \t]*$/gm, "\n").replaceAll(/<!--[\s\S]*?-->/g, "");
  return splitSentences(prose).flatMap(checkSentence);
}

/** Returns what is wrong with the doc comments of a TypeScript file. */
export function checkDocComments(text: string): Complaint[] {
  return [...text.matchAll(/\/\*\*([\s\S]*?)\*\//g)].flatMap(([, comment = ""]) => {
    const prose = comment.replaceAll(/^\s*\*[ \t]?/gm, "");
    const vague = VAGUE_VERB.exec(prose.trim());
    return [
      ...(vague === null
        ? []
        : [{ sentence: prose.trim(), problem: `begins with “${vague[0]}”: write Returns or Reports` }]),
      ...splitSentences(prose).flatMap(checkSentence),
    ];
  });
}

function checkSentence(sentence: string): Complaint[] {
  const words = countWords(sentence);
  const banned = BANNED.filter(([phrase]) => phrase.test(sentence));
  return [
    ...(words > WORDS_MAX ? [{ sentence, problem: `${words} words` }] : []),
    ...banned.map(([phrase, instead]) => ({ sentence, problem: `“${phrase.exec(sentence)?.[0]}”: ${instead}` })),
  ];
}

/** Counts what has a letter or a digit in it. Code in backticks and an address are one word each. */
function countWords(sentence: string): number {
  return sentence.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length;
}

/** Splits text into sentences. A heading, an item of a list and a paragraph end a sentence; a line of a table is none. */
function splitSentences(text: string): string[] {
  const paragraphs = [""];
  for (const line of text.split("\n")) {
    const [, mark = "", words = ""] = /^\s*(?:>\s*)*(#+\s|[-*+]\s|\d+\.\s|@\w+|\|)?(.*)$/.exec(line) ?? [];
    const startsAnew = mark !== "" || words.trim() === "";
    if (startsAnew) paragraphs.push("");
    if (mark !== "|") paragraphs.push(`${paragraphs.pop()} ${words}`);
    if (mark.startsWith("#")) paragraphs.push("");
  }
  return paragraphs.flatMap((paragraph) =>
    readPlain(paragraph)
      .split(/(?<=[.!?][)"'”*]*)\s+(?=[\p{Lu}\p{N}("'“*])/u)
      .map((sentence) => sentence.trim())
      .filter((sentence) => sentence !== ""),
  );
}

/** Replaces what is read as one word, and leaves out marks and addresses of links. */
function readPlain(paragraph: string): string {
  return paragraph
    .replaceAll(/(`+)(?:(?!\1).)+\1/g, "CODE")
    .replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replaceAll(/https?:\/\/\S+/g, "ADDRESS")
    .replaceAll(/<\/?\w[^>]*>/g, "")
    .replaceAll(/\b(?:e\.g|i\.e|etc|vs)\./g, (short) => short.slice(0, -1));
}
