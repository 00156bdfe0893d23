import type { Request } from "express";

const COLOURS = /(?:^|;) *treadle-colours=(light|dark) *(?:;|$)/;

/**
 * Returns the colours chosen for the editor in this browser; undefined: the system's. `web/src/app/colour-choice.ts`
 * sets the cookie.
 */
export function readColours(request: Request): string | undefined {
  return COLOURS.exec(request.get("cookie") ?? "")?.[1];
}
