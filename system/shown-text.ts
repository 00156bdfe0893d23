import { Writable } from "node:stream";
import { StringDecoder } from "node:string_decoder";

/** Text that a terminal shows, colours (SGR) and ends of lines; then what it would obey: C0, DEL, C1, and directions of text. */
const CONTROLS =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: They are what is looked for.
  /\u001b\[[0-9;:]{0,32}m|\r?\n|[\0-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;
/** What may be the beginning of a colour or of an end of line, at the end of a piece of text. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: They are what is looked for.
const BEGINNING = /(?:\u001b(?:\[[0-9;:]{0,32})?|\r)$/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: They are what is looked for.
const COLOUR = /\u001b\[[0-9;:]{0,32}m/;
const COLOURS_OFF = "\u001b[0m";

/**
 * Returns text that a terminal shows and does not obey. Colours and ends of lines stay as they are; every other control
 * character is written out, such as `\x1b]52;` or `\u202e`. A carriage return alone is one, because what follows it
 * would be written over the line. JSON stays JSON.
 */
export function showControls(text: string): string {
  return text.replace(CONTROLS, (found) => (found.length > 1 || found === "\n" ? found : writeOut(found)));
}

/** JSON has written out C0 itself; of the rest it knows this form alone. */
function writeOut(character: string): string {
  const code = character.charCodeAt(0);
  return code < 0x20 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u${code.toString(16).padStart(4, "0")}`;
}

/** A stream whose text another one gets, and how to write what was kept back for its next piece. */
export interface Shown {
  readonly stream: Writable;
  finish(): void;
}

/**
 * Returns a stream for text that others chose. A terminal gets it by `showControls`, and its colours end with it. A
 * file or a pipe gets it as it is, because a program reads it there.
 */
export function showOn(target: Writable & { readonly isTTY?: boolean }): Shown {
  if (target.isTTY !== true) return { stream: target, finish: () => undefined };
  const decoder = new StringDecoder("utf8");
  let kept = "";
  let isColoured = false;
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      const text = kept + decoder.write(chunk);
      kept = BEGINNING.exec(text)?.[0] ?? "";
      isColoured ||= COLOUR.test(text);
      target.write(showControls(text.slice(0, text.length - kept.length)));
      done();
    },
  });
  return {
    stream,
    finish() {
      if (kept !== "" || isColoured) target.write(`${showControls(kept)}${isColoured ? COLOURS_OFF : ""}`);
      kept = "";
      isColoured = false;
    },
  };
}
