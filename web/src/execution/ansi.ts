import Anser from "anser";
import { toPlain } from "./log-lines.ts";

/** A piece of a line that looks the same throughout. Colours are CSS. */
export interface Piece {
  readonly text: string;
  readonly colour: string | undefined;
  readonly background: string | undefined;
  readonly bold: boolean;
  readonly dim: boolean;
  readonly italic: boolean;
  readonly underline: boolean;
}

/** Steps of the colour cube that terminals number from 16 to 231. */
const STEPS = [0, 95, 135, 175, 215, 255];

/** Takes a line apart by the colours it asks for. What else terminals understand is left out. */
export function toPieces(line: string): readonly Piece[] {
  if (!line.includes("\u001b")) return [piece(line)];
  return Anser.ansiToJson(line, { use_classes: true, remove_empty: true }).map((part) => {
    const { decorations } = part;
    return {
      text: toPlain(part.content),
      colour: toColour(part.fg, part.fg_truecolor),
      background: toColour(part.bg, part.bg_truecolor),
      bold: decorations.includes("bold"),
      dim: decorations.includes("dim"),
      italic: decorations.includes("italic"),
      underline: decorations.includes("underline"),
    };
  });
}

function piece(text: string): Piece {
  const plain = { bold: false, dim: false, italic: false, underline: false };
  return { text, colour: undefined, background: undefined, ...plain };
}

/** The sixteen named colours are the theme's, so that they can be read in light and dark; all others as they are. */
function toColour(name: string | null, exact: string | null): string | undefined {
  if (name === null || name === "") return undefined;
  if (name === "ansi-truecolor") return exact === null ? undefined : `rgb(${exact})`;
  const [, number] = /^ansi-palette-(\d+)$/.exec(name) ?? [];
  if (number === undefined) return `var(--${name})`;
  const index = Number(number);
  if (index >= 232) return grey(8 + (index - 232) * 10);
  const cube = index - 16;
  const [red, green, blue] = [Math.floor(cube / 36), Math.floor(cube / 6) % 6, cube % 6].map(
    (step) => STEPS[step] ?? 0,
  );
  return `rgb(${red}, ${green}, ${blue})`;
}

function grey(level: number): string {
  return `rgb(${level}, ${level}, ${level})`;
}
