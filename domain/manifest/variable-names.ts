import { isStorable, quote } from "./json-values.ts";

export const VARIABLE_NAME_CHARACTERS_MAX = 100;
/** Of a secret and of a variable, in bytes of UTF-8. */
export const VALUE_BYTES_MAX = 32 * 1024;
/** A shorter text is in many a line by chance, so it is not masked in logs. In UTF-8. */
export const MASKED_BYTES_MIN = 6;
/** Names that one manifest may have in `secrets`, and as many in `env`. */
export const VARIABLES_MAX = 50;

const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
const OURS = new Set(["HOME", "LANG", "PATH", "USER", "VIRTUAL_ENV"]);
const THREADS = new Set(
  [
    ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS", "NUMBA_NUM_THREADS"],
    ["POLARS_MAX_THREADS", "RAYON_NUM_THREADS", "TOKIO_WORKER_THREADS", "GOMAXPROCS", "LOKY_MAX_CPU_COUNT"],
  ].flat(),
);

/** Returns why a name cannot be one of a secret or a variable of the environment, and what to do; undefined when it can. */
export function findVariableNameProblem(name: string): string | undefined {
  const shown = quote(name.slice(0, VARIABLE_NAME_CHARACTERS_MAX));
  if (name.length > VARIABLE_NAME_CHARACTERS_MAX)
    return `${shown} is longer than ${VARIABLE_NAME_CHARACTERS_MAX} characters. Choose a shorter name.`;
  if (!NAME.test(name))
    return `${shown} cannot be the name of a variable. Write letters of English, digits and _, and begin with no digit.`;
  const taken = findOwner(name);
  return taken && `${shown} cannot be set: ${taken} Choose another name.`;
}

function findOwner(name: string): string | undefined {
  if (OURS.has(name)) return "the service sets it for every program.";
  if (THREADS.has(name)) return "it follows limits.cpu.";
  if (/^PYTHON/i.test(name)) return "names that begin with PYTHON change the interpreter itself.";
  if (/^LD_/i.test(name)) return "names that begin with LD_ change how programs are loaded.";
  if (/^TREADLE_/i.test(name)) return "names that begin with TREADLE_ are the service's own.";
  return undefined;
}

/** Returns why a text cannot be the value of a secret or a variable; undefined when it can. */
export function findValueProblem(value: string): string | undefined {
  if (value === "") return "must not be empty.";
  if (value.includes("\0")) return "holds a NUL character, which no environment variable can have.";
  if (!isStorable(value)) return "holds half of a surrogate pair, which is no character. Send it as UTF-8.";
  const bytes = new TextEncoder().encode(value).length;
  return bytes > VALUE_BYTES_MAX
    ? `has ${bytes} bytes, and may have ${VALUE_BYTES_MAX} (32 KiB). Keep what is larger in a file of the commit.`
    : undefined;
}
