import type { Request } from "express";

const COLOURS = /(?:^|;) *treadle-colours=(light|dark) *(?:;|$)/;

/** The colours that somebody has chosen for the editor in this browser (`web/src/app/colour-choice.ts`); undefined: the system's. */
export function readColours(request: Request): string | undefined {
  return COLOURS.exec(request.get("cookie") ?? "")?.[1];
}
