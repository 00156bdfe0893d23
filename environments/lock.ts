import { createHash } from "node:crypto";
import type { Manifest } from "../domain/manifest/manifest.ts";
import { type Interpreter, minorVersionOf } from "../sandbox/interpreter.ts";
import { normalizeName } from "./requirements.ts";

/** Changed when the way environments are laid out changes, so that old ones are not taken for new ones. */
const LAYOUT = "1";
const LOCK_BYTES_MAX = 8 * 1024 * 1024;
const PIN = /^([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)==([A-Za-z0-9.!+_-]+)$/;
const HASH = /^--hash=sha256:([0-9a-f]{64})$/;

/** SHA-256 in hex of everything that decides what an environment holds. */
export type EnvironmentKey = string;

export interface Python extends Interpreter {
  /** Operating system, processor and C library, such as `linux-x86_64-glibc2.36`: what decides which wheels fit. */
  readonly platform: string;
}

/** What an environment is made with, besides its lock. */
export interface BuildSpec {
  readonly python: Python;
  /** `source`: a package without a wheel that fits may be built, which runs its code. */
  readonly build: Manifest["build"];
}

export interface Pin {
  readonly name: string;
  readonly version: string;
  /** SHA-256 in hex, at least one: of every file of this version, or of the only one that may be used. */
  readonly hashes: readonly string[];
}

/**
 * Reads a lock: one exact version with its hashes a package, in the format that both uv and pip write and read.
 * Throws on anything else, so that no option, URL or path can reach an installer through a lock.
 */
export function parseLock(text: string): Pin[] {
  if (text.length > LOCK_BYTES_MAX) throw new Error("The lock of the environment is too large.");
  const pins: Pin[] = [];
  for (const line of text.replaceAll(/\\\r?\n/g, " ").split(/\r?\n/)) {
    const [pin, ...rest] = line.trim().split(/\s+/);
    if (pin === undefined || pin === "" || pin.startsWith("#")) continue;
    const [, name, version] = PIN.exec(pin) ?? [];
    const hashes = rest.map((word) => HASH.exec(word)?.[1]);
    if (name === undefined || version === undefined || hashes.length === 0 || hashes.includes(undefined)) {
      throw new Error(
        `The lock of the environment has a line that is no pinned package: ${JSON.stringify(line.slice(0, 100))}`,
      );
    }
    pins.push({ name: normalizeName(name), version, hashes: hashes as string[] });
  }
  return pins;
}

/** The one text for a set of pins: sorted, without comments. Equal environments have equal texts. */
export function writeLock(pins: readonly Pin[]): string {
  const byName = [...pins].sort((a, b) => compare(a.name, b.name) || compare(a.version, b.version));
  return byName
    .map(({ name, version, hashes }) => {
      const lines = [...new Set(hashes)].sort(compare).map((hash) => `    --hash=sha256:${hash}`);
      return `${name}==${version} \\\n${lines.join(" \\\n")}\n`;
    })
    .join("");
}

/**
 * The key of an environment. Of the interpreter's version only what decides about compatible wheels and bytecode
 * counts: 3.11, not 3.11.2. A security update of Python must not break every published workflow.
 */
export function keyOf(python: Python, lock: string, build: BuildSpec["build"] = "wheels"): EnvironmentKey {
  const parts = [LAYOUT, minorVersionOf(python), python.platform, writeLock(parseLock(lock))];
  if (build === "source") parts.push("built from source where there is no wheel");
  return createHash("sha256").update(parts.join("\n")).digest("hex");
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
