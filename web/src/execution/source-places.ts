/** A place in a file of the commit. */
export interface SourcePlace {
  readonly file: string;
  readonly line: number;
}

/** A piece of a text: where `place` is given, what names that place. */
export interface Placed {
  readonly text: string;
  readonly place: SourcePlace | undefined;
}

/** A frame of a traceback of the commit's own files, which are at `/app`; and the end of a SyntaxError's message. */
const PLACE = /File "\/app\/([^"]+)", line (\d+)|\(([\w./-]+\.py), line (\d+)\)/g;

/** Takes a text apart at the places in files of the commit that it names. */
export function splitPlaces(text: string): readonly Placed[] {
  const pieces: Placed[] = [];
  let from = 0;
  for (const match of text.matchAll(PLACE)) {
    const [whole, frame, frameLine, file, line] = match;
    if (match.index > from) pieces.push({ text: text.slice(from, match.index), place: undefined });
    pieces.push({ text: whole, place: { file: frame ?? file ?? "", line: Number(frameLine ?? line) } });
    from = match.index + whole.length;
  }
  if (from < text.length || pieces.length === 0) pieces.push({ text: text.slice(from), place: undefined });
  return pieces;
}
