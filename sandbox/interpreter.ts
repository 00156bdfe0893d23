/** A Python on this host that programs can run on. */
export interface Interpreter {
  /** Absolute path of the Python program, its symlinks resolved. */
  readonly path: string;
  /** `3.11` or `3.11.2`. */
  readonly version: string;
  /** `sys.base_prefix`. */
  readonly prefix: string;
  /** Folders outside `/usr` that the interpreter needs, its prefix included; they appear under their own paths. */
  readonly bindPaths: readonly string[];
}

/** Returns `3.11` of `3.11.2`. */
export function minorVersionOf(python: Pick<Interpreter, "version">): string {
  return python.version.split(".").slice(0, 2).join(".");
}
