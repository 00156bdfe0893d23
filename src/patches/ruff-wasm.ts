// Written for @astral-sh/ruff-wasm-nodejs 0.17.4: its memory may grow to 4 GiB, and an instance that ran out of stack stays broken.
// And for V8 of Node.js 20 to 24: after its first use it compiles all of a module once more, for speed.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname } from "node:path";
import { setFlagsFromString } from "node:v8";
import { compileFunction } from "node:vm";

/** Of WebAssembly. */
const PAGE_BYTES = 65_536;
/** Behind the magic number and the version. */
const FIRST_SECTION = 8;
const MEMORY_SECTION = 5;
const HAS_MAXIMUM = 1;
/**
 * Of this process, whose other modules are small. With the code that V8 makes at once, Ruff's first answer takes 0.2 s of a processor, and
 * 128 KiB some 30 ms. The better code took 5 s of a processor in the background, after every start, and made neither quicker.
 */
const NO_SECOND_COMPILATION = ["--wasm-lazy-compilation", "--liftoff-only"];

export type Ruff = typeof import("@astral-sh/ruff-wasm-nodejs");

/**
 * Returns a function that makes instances of Ruff, each with at most so much memory of its own; one that needs more throws. Nothing of
 * an instance is left when nobody holds it. A module that was required would stay, and be the same broken one every time.
 */
export function openRuff(memoryBytesMax: number): () => Ruff {
  for (const flag of NO_SECOND_COMPILATION) setFlagsFromString(flag);
  const require = createRequire(import.meta.url);
  const path = require.resolve("@astral-sh/ruff-wasm-nodejs");
  const folder = dirname(path);
  const bytes = limitMemory(readFileSync(`${folder}/ruff_wasm_bg.wasm`), Math.floor(memoryBytesMax / PAGE_BYTES));
  // Its file system is this one file.
  const readAs = (name: string): unknown => (name === "fs" ? { readFileSync: () => bytes } : require(name));
  const parameters = ["module", "exports", "require", "__dirname"];
  const start = compileFunction(readFileSync(path, "utf8"), parameters, { filename: path });
  return () => {
    const module = { exports: {} };
    start(module, module.exports, readAs, folder);
    return module.exports as Ruff;
  };
}

/** Gives the memory that a module declares a maximum. */
function limitMemory(bytes: Buffer, pagesMax: number): Buffer {
  let at = FIRST_SECTION;
  while (at < bytes.length) {
    const size = readNumber(bytes, at + 1);
    const end = size.end + size.value;
    if (bytes[at] === MEMORY_SECTION) {
      const count = readNumber(bytes, size.end);
      const pages = readNumber(bytes, count.end + 1);
      if (count.value !== 1 || bytes[count.end] !== 0 || pages.end !== end) break;
      const memory = Buffer.from([1, HAS_MAXIMUM, ...toNumber(pages.value), ...toNumber(pagesMax)]);
      const head = Buffer.from([MEMORY_SECTION, ...toNumber(memory.length)]);
      return Buffer.concat([bytes.subarray(0, at), head, memory, bytes.subarray(end)]);
    }
    at = end;
  }
  throw new Error("The memory of Ruff's module is not declared as it was: nothing would bound it.");
}

/** LEB128, as all numbers of WebAssembly. */
function readNumber(bytes: Buffer, at: number): { readonly value: number; readonly end: number } {
  let [value, end] = [0, at];
  for (let shift = 0; ; shift += 7) {
    const byte = bytes[end++] ?? 0;
    value += (byte & 0x7f) * 2 ** shift;
    if (byte < 0x80) return { value, end };
  }
}

function toNumber(value: number): number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...toNumber(value >>> 7)];
}
