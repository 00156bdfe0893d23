import { showControls } from "../../system/shown-text.ts";
import type { Terminal } from "./io.ts";

/** How often the line changes: more often nobody can read it. */
const CHANGE_MS_MIN = 100;
const COLUMNS_DEFAULT = 80;
const BACK_AND_ERASE = "\r\u001b[2K";

/** The last line of a terminal, which says how far something is and goes when it is over. */
export interface StatusLine {
  /** False where nothing is ever shown: the target is no terminal. */
  readonly isTerminal: boolean;
  /** Shows one line of text, in the place of the one before. */
  show(text: string): void;
  /** Erases the line. Call it before anything else is written. */
  clear(): void;
}

/** Returns a line that is drawn on a terminal, and nowhere else: a pipe or a file gets nothing of it. */
export function createStatusLine(target: Terminal): StatusLine {
  let shownAt = 0;
  let isDrawn = false;
  if (target.isTTY !== true) return { isTerminal: false, show: () => undefined, clear: () => undefined };
  return {
    isTerminal: true,
    show(text) {
      if (isDrawn && Date.now() - shownAt < CHANGE_MS_MIN) return;
      // Some terminals say that they have no columns. A full line would wrap, and could not be erased.
      const width = (target.columns || COLUMNS_DEFAULT) - 1;
      target.write(`${BACK_AND_ERASE}${showControls(text).slice(0, Math.max(1, width))}`);
      shownAt = Date.now();
      isDrawn = true;
    },
    clear() {
      if (isDrawn) target.write(BACK_AND_ERASE);
      isDrawn = false;
    },
  };
}
