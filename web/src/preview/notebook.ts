import { MARKDOWN_CHARACTERS_MAX } from "./markdown-tokens.ts";

/** A cell of a Jupyter notebook: its text, and what came of it. */
export interface Cell {
  readonly kind: "markdown" | "code" | "raw";
  readonly text: string;
  readonly outputs: readonly CellOutput[];
}

/** `error` is a traceback, with a terminal's colours. */
export type CellOutput =
  | { readonly kind: "text" | "error"; readonly text: string }
  | { readonly kind: "picture"; readonly type: "image/png" | "image/jpeg"; readonly base64: string };

const PICTURES = ["image/png", "image/jpeg"] as const;
const CELLS_MAX = 500;

/**
 * Returns the cells of a notebook of nbformat 4, 500 at most; undefined for what is none. Texts and pictures only: HTML, drawings
 * and scripts in it are left out.
 */
export function readNotebook(text: string): Cell[] | undefined {
  const notebook = parse(text);
  const cells = isRecord(notebook) ? notebook["cells"] : undefined;
  if (!Array.isArray(cells)) return undefined;
  return boundMarkdown(cells.slice(0, CELLS_MAX).flatMap((cell: unknown) => (isRecord(cell) ? [readCell(cell)] : [])));
}

/** Texts behind the first that are too long together are shown as they are: each would keep the page for seconds. */
function boundMarkdown(cells: readonly Cell[]): Cell[] {
  let characters = 0;
  return cells.map((cell) => {
    if (cell.kind === "markdown") characters += cell.text.length;
    return cell.kind === "markdown" && characters > MARKDOWN_CHARACTERS_MAX ? { ...cell, kind: "raw" } : cell;
  });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function readCell(cell: Readonly<Record<string, unknown>>): Cell {
  const type = cell["cell_type"];
  const outputs = Array.isArray(cell["outputs"]) ? cell["outputs"] : [];
  return {
    kind: type === "markdown" || type === "code" ? type : "raw",
    text: join(cell["source"]),
    outputs: outputs.flatMap((output: unknown) => (isRecord(output) ? readOutput(output) : [])),
  };
}

function readOutput(output: Readonly<Record<string, unknown>>): CellOutput[] {
  if (output["output_type"] === "stream") return [{ kind: "text", text: join(output["text"]) }];
  if (output["output_type"] === "error") return [{ kind: "error", text: join(output["traceback"], "\n") }];
  const data = isRecord(output["data"]) ? output["data"] : {};
  for (const type of PICTURES) {
    const base64 = join(data[type]).replaceAll(/\s/g, "");
    if (base64 !== "") return [{ kind: "picture", type, base64 }];
  }
  const plain = join(data["text/plain"]);
  return plain === "" ? [] : [{ kind: "text", text: plain }];
}

/** Notebooks have texts as they are, or as lists of their lines. */
function join(value: unknown, between = ""): string {
  if (Array.isArray(value)) return value.filter((line) => typeof line === "string").join(between);
  return typeof value === "string" ? value : "";
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
