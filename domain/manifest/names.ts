import { quote } from "./json-values.ts";

const INPUT_NAME = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/;

/** Python 3.14's keywords: none of them can be the name of a keyword argument. */
const PYTHON_KEYWORDS = new Set(
  (
    "False None True and as assert async await break class continue def del elif else except finally for from global if " +
    "import in is lambda nonlocal not or pass raise return try while with yield"
  ).split(" "),
);

/** Why a name cannot be an input's, which becomes a keyword argument of `main`; undefined when it can. */
export function findInputNameProblem(name: string): string | undefined {
  if (PYTHON_KEYWORDS.has(name))
    return `is a keyword of Python and cannot name an argument. Write ${name.toLowerCase()}_ or another name.`;
  if (INPUT_NAME.test(name)) return undefined;
  const suggestion = name
    .replace(/[^A-Za-z0-9_]+/g, "_")
    .replace(/^(?=\d)/, "_")
    .slice(0, 64);
  const hint = /[A-Za-z0-9]/.test(suggestion)
    ? ` Write ${quote(suggestion)}, for example, and say the rest in its label.`
    : "";
  return `cannot name an input: letters, digits and _ only, not a digit first, at most 64.${hint}`;
}

/** Why a name cannot be an output's; undefined when it can. Outputs in subfolders are named by their path. */
export function findOutputNameProblem(name: string): string | undefined {
  if (name === "" || name.length > 255 || /[\p{Cc}\\]/u.test(name))
    return "cannot name an output: 1 to 255 characters, without control characters and \\.";
  const odd = name.split("/").some((part) => part === "" || part === "." || part === "..");
  return odd
    ? "cannot name an output: it is a path within outputs/, without . and .. and without / at its ends."
    : undefined;
}

/** Why a path cannot be the entrypoint; undefined when it can. Whether the file exists is the publisher's to check. */
export function findEntrypointProblem(path: string): string | undefined {
  if (!path.endsWith(".py")) return `must be the path of a Python file, such as main.py, not ${quote(path)}.`;
  const parts = path.split("/");
  if (
    path.length > 255 ||
    /[\p{Cc}\\:]/u.test(path) ||
    parts.some((part) => part === "" || part === "." || part === "..")
  ) {
    return `must be a path within the folder, such as src/main.py, without . and .. and without / at its beginning, not ${quote(path)}.`;
  }
  return undefined;
}
