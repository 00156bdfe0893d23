/**
 * The texts of JSON values by the names of their inputs, as they were written. JavaScript's own values lose what JSON
 * can say: digits beyond 2^53, `1.0`, the order of keys that look like numbers.
 */
export type JsonTexts = Readonly<Record<string, string>>;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const MINUS = 0x2d;
const [COLON, COMMA] = [0x3a, 0x2c];
const [LIST, LIST_END, OBJECT, OBJECT_END] = [0x5b, 0x5d, 0x7b, 0x7d];
/** Python reads no whole number of more digits (sys.int_info.default_max_str_digits). */
const DIGITS_MAX = 4_300;
const NUMBER = /-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?/y;
const SPACE = /^\s$/;

/** Returns the texts of the members of a JSON object; of a key that is there twice the last one. `text` must be valid JSON; what is no object has none. */
export function splitMembers(text: string): JsonTexts {
  const members: [string, string][] = [];
  let depth = 0;
  let key: string | undefined;
  let start = 0;
  for (let at = 0; at < text.length; at += 1) {
    // By codes, as a body of a megabyte is gone through while everybody waits.
    const mark = text.charCodeAt(at);
    switch (mark) {
      case QUOTE: {
        const end = endOfString(text, at);
        if (depth === 1 && key === undefined) key = JSON.parse(text.slice(at, end)) as string;
        at = end - 1;
        break;
      }
      case COLON:
        if (depth === 1) start = at + 1;
        break;
      case LIST:
        if (depth === 0) return {};
        depth += 1;
        break;
      case OBJECT:
        depth += 1;
        break;
      case LIST_END:
      case OBJECT_END:
      case COMMA:
        if (depth === 1 && key !== undefined) {
          members.push([key, text.slice(start, at).trim()]);
          key = undefined;
        }
        if (mark !== COMMA) depth -= 1;
        break;
      default:
    }
  }
  // fromEntries defines properties and so is safe for any name; an assignment to "__proto__" would not be.
  return Object.fromEntries(members);
}

/** Returns the text of an input, or undefined; also of one that is called as something that every object has, such as constructor. */
export function textOf(texts: JsonTexts, name: string): string | undefined {
  return Object.hasOwn(texts, name) ? texts[name] : undefined;
}

/** Returns an object as JSON, with those of its members as they are in `texts` that are there. What is undefined is left out. */
export function writeObject(object: Readonly<Record<string, unknown>>, texts: JsonTexts): string {
  const members = Object.entries(object).flatMap(([name, value]) => {
    const text = textOf(texts, name) ?? JSON.stringify(value);
    return text === undefined ? [] : [`${JSON.stringify(name)}:${text}`];
  });
  return `{${members.join(",")}}`;
}

/** True when JavaScript's value of a JSON text says the same: to write that down again changes only white space. */
export function isExact(text: string): boolean {
  return removeSpace(text) === JSON.stringify(JSON.parse(text));
}

/** Returns JSON for people: with its parts on lines of their own where that changes nothing but white space, else as it is. */
export function layOut(text: string): string {
  return isExact(text) ? JSON.stringify(JSON.parse(text), null, 2) : text;
}

/**
 * Returns JSON with each number that JavaScript would write otherwise in an object of its own, by its digits. No input holds
 * such an object: its key is a NUL character.
 */
export function markNumbers(text: string): string {
  let marked = "";
  let done = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at) - 1;
    if (code !== MINUS && !isDigit(code)) continue;
    NUMBER.lastIndex = at;
    const number = NUMBER.exec(text)?.[0] ?? "";
    if (String(Number(number)) !== number) {
      marked += `${text.slice(done, at)}{"\\u0000":"${number}"}`;
      done = at + number.length;
    }
    at += number.length - 1;
  }
  return marked + text.slice(done);
}

/** True for the text of a JSON number that JavaScript would write otherwise, such as `1.0`. */
export function isChangedNumber(text: string): boolean {
  NUMBER.lastIndex = 0;
  return NUMBER.exec(text)?.[0] === text && String(Number(text)) !== text;
}

/** True when a JSON text has more digits in a row than Python reads. JavaScript's value has none such, where a key is there twice. */
export function hasEndlessNumber(text: string): boolean {
  let digits = 0;
  for (let at = 0; at < text.length && digits <= DIGITS_MAX; at += 1) {
    const code = text.charCodeAt(at);
    digits = isDigit(code) ? digits + 1 : 0;
    if (code === QUOTE) at = endOfString(text, at) - 1;
  }
  return digits > DIGITS_MAX;
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

function removeSpace(text: string): string {
  let rest = "";
  for (let at = 0; at < text.length; at += 1) {
    const end = text.charCodeAt(at) === QUOTE ? endOfString(text, at) : at + 1;
    const part = text.slice(at, end);
    if (!SPACE.test(part)) rest += part;
    at = end - 1;
  }
  return rest;
}

/** The place after the string that begins at `at`. */
function endOfString(text: string, at: number): number {
  let end = text.indexOf('"', at + 1);
  while (end !== -1 && isEscaped(text, end)) end = text.indexOf('"', end + 1);
  return end === -1 ? text.length : end + 1;
}

/** Whether an odd number of backslashes comes before. */
function isEscaped(text: string, at: number): boolean {
  let first = at;
  while (text.charCodeAt(first - 1) === BACKSLASH) first -= 1;
  return (at - first) % 2 === 1;
}
