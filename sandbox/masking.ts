import { MASKED_BYTES_MIN } from "../domain/manifest/variable-names.ts";

/** What stands in a log for a secret. */
const MASK = Buffer.from("***");
/** All forms of all secrets of a run. What is beyond is not looked for: an automaton of this size takes 20 MiB. */
const FORMS_BYTES_MAX = 1024 * 1024;
const LINE_BREAKS = /\r\n|\r|\n/;

/** Takes secrets out of a stream of bytes, wherever its pieces end. */
export interface Masker {
  /** Returns what can be shown so far. It keeps back what may be the beginning of a secret. */
  add(chunk: Buffer): Buffer;
  /** Returns the rest at the end of the stream. After a cut, what may be the beginning of a secret is left out. */
  end(isCut: boolean): Buffer;
}

/** Secrets as programs write them by accident, ready to be looked for in many streams. */
export interface Mask {
  createMasker(): Masker;
  maskText(text: string): string;
}

/** Returns what masks these secrets; undefined where there are none that can be. Those under 6 bytes cannot. */
export function createMask(secrets: readonly string[]): Mask | undefined {
  const forms = listForms(secrets);
  if (forms.length === 0) return undefined;
  const automaton = buildAutomaton(forms);
  return {
    createMasker: () => createMasker(automaton),
    maskText(text) {
      const masker = createMasker(automaton);
      return Buffer.concat([masker.add(Buffer.from(text)), masker.end(false)]).toString("utf8");
    },
  };
}

/** A secret itself, each of its longer lines, and both in base64, for addresses, and as JSON writes them. */
function listForms(secrets: readonly string[]): Buffer[] {
  const forms = new Set<string>();
  let bytes = 0;
  for (const secret of secrets) {
    for (const part of new Set([secret, secret.trim(), ...secret.split(LINE_BREAKS)])) {
      if (Buffer.byteLength(part) < MASKED_BYTES_MIN) continue;
      for (const form of [part, ...toBase64(part), ...toUrlForms(part), ...toJsonForms(part)]) {
        if (forms.has(form) || bytes + form.length > FORMS_BYTES_MAX) continue;
        forms.add(form);
        bytes += form.length;
      }
    }
  }
  return [...forms].map((form) => Buffer.from(form)).filter(({ length }) => length >= MASKED_BYTES_MIN);
}

/** Base64 of a text wherever it stands in what is encoded, such as `user:secret`: only the characters that are of it alone. */
function toBase64(text: string): string[] {
  const bytes = Buffer.from(text);
  const whole = [bytes.toString("base64"), bytes.toString("base64url")];
  const within = [0, 1, 2].flatMap((before) => {
    const encoded = Buffer.concat([Buffer.alloc(before), bytes])
      .toString("base64")
      .replaceAll("=", "");
    const isOpen = (before + bytes.length) % 3 !== 0;
    const own = encoded.slice(before === 0 ? 0 : before + 1, isOpen ? -1 : undefined);
    return [own, own.replaceAll("+", "-").replaceAll("/", "_")];
  });
  return [...whole, ...within];
}

/** As libraries of several languages escape it for addresses and forms: they differ in what they leave. */
function toUrlForms(text: string): string[] {
  const component = encodeURIComponent(text);
  const strict = component.replaceAll(/[!'()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`);
  return [component, strict].flatMap((one) => {
    const forms = [one, one.replaceAll("%2F", "/"), one.replaceAll("%20", "+")];
    return [...forms, ...forms.map((form) => form.replaceAll(/%[0-9A-F]{2}/g, (code) => code.toLowerCase()))];
  });
}

/** As JSON and `repr` of Python write it within quotes. */
function toJsonForms(text: string): string[] {
  const json = JSON.stringify(text).slice(1, -1);
  const toCode = (one: string): string => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return [json, json.replaceAll(/[^\x00-\x7f]/g, toCode), json.replaceAll('\\"', '"')];
}

/**
 * Aho and Corasick's: one step for each byte, however many forms there are, and however much of one a program writes again and
 * again. Children of a node are a list of siblings.
 */
interface Automaton {
  readonly byte: Uint8Array;
  readonly child: Int32Array;
  readonly sibling: Int32Array;
  /** The node of the longest ending that is a beginning, too. */
  readonly fallback: Int32Array;
  readonly depth: Int32Array;
  /** The bytes of the longest form that ends at a node; 0: none does. */
  readonly found: Int32Array;
}

function buildAutomaton(forms: readonly Buffer[]): Automaton {
  const size = forms.reduce((sum, { length }) => sum + length, 1);
  const [child, sibling, fallback, depth, found] = Array.from({ length: 5 }, () => new Int32Array(size)) as [
    Int32Array,
    Int32Array,
    Int32Array,
    Int32Array,
    Int32Array,
  ];
  const automaton = { byte: new Uint8Array(size), child, sibling, fallback, depth, found };
  let count = 1;
  for (const form of forms) {
    let node = 0;
    for (const byte of form) {
      const next = findChild(automaton, node, byte);
      if (next !== 0) {
        node = next;
        continue;
      }
      automaton.byte[count] = byte;
      sibling[count] = child[node] as number;
      depth[count] = (depth[node] as number) + 1;
      child[node] = count;
      node = count++;
    }
    found[node] = form.length;
  }
  linkFallbacks(automaton);
  return automaton;
}

/** Level by level: the fallback of a node is higher up. */
function linkFallbacks(automaton: Automaton): void {
  const { byte, child, sibling, fallback, found } = automaton;
  const waiting = [0];
  for (let at = 0; at < waiting.length; at += 1) {
    const node = waiting[at] as number;
    for (let one = child[node] as number; one !== 0; one = sibling[one] as number) {
      if (node !== 0) fallback[one] = step(automaton, fallback[node] as number, byte[one] as number);
      found[one] = Math.max(found[one] as number, found[fallback[one] as number] as number);
      waiting.push(one);
    }
  }
}

function findChild({ byte, child, sibling }: Automaton, node: number, wanted: number): number {
  let one = child[node] as number;
  while (one !== 0 && byte[one] !== wanted) one = sibling[one] as number;
  return one;
}

function step(automaton: Automaton, from: number, byte: number): number {
  for (let node = from; ; node = automaton.fallback[node] as number) {
    const next = findChild(automaton, node, byte);
    if (next !== 0 || node === 0) return next;
  }
}

function createMasker(automaton: Automaton): Masker {
  const { depth, found } = automaton;
  let node = 0;
  /** Read, and not given out yet. */
  let kept: Buffer = Buffer.alloc(0);
  /** Which of `kept` are of a secret: stretches in order, apart from each other. */
  let secrets: [number, number][] = [];
  /** The last that was given out is a mask, which goes on. */
  let isWithin = false;

  function note(start: number, end: number): void {
    let from = start;
    for (let last = secrets.at(-1); last !== undefined && last[1] >= from; last = secrets.at(-1)) {
      from = Math.min(from, last[0]);
      secrets.pop();
    }
    secrets.push([from, end]);
  }

  function give(until: number): Buffer {
    const parts: Buffer[] = [];
    let at = 0;
    for (const [start, end] of secrets) {
      if (start >= until) break;
      if (start > at) parts.push(kept.subarray(at, start));
      if (!(isWithin && start === 0)) parts.push(MASK);
      at = Math.min(end, until);
      isWithin = end >= until;
    }
    if (at < until) {
      parts.push(kept.subarray(at, until));
      isWithin = false;
    }
    kept = kept.subarray(until);
    secrets = secrets.flatMap(([start, end]) =>
      end > until ? [[Math.max(0, start - until), end - until] as [number, number]] : [],
    );
    return Buffer.concat(parts);
  }

  return {
    add(chunk) {
      const before = kept.length;
      kept = before === 0 ? chunk : Buffer.concat([kept, chunk]);
      for (let at = before; at < kept.length; at += 1) {
        node = step(automaton, node, kept[at] as number);
        const length = found[node] as number;
        if (length > 0) note(Math.max(0, at + 1 - length), at + 1);
      }
      return give(kept.length - (depth[node] as number));
    },
    end(isCut) {
      const rest = give(isCut ? kept.length - (depth[node] as number) : kept.length);
      node = 0;
      kept = Buffer.alloc(0);
      secrets = [];
      return rest;
    },
  };
}
