import { expect, test } from "@jest/globals";
import { splitPlaces } from "../../../web/src/execution/source-places.ts";

test.each([
  ['  File "/app/steps/first.py", line 12, in main', { file: "steps/first.py", line: 12 }],
  ["SyntaxError: '(' was never closed (main.py, line 3)", { file: "main.py", line: 3 }],
])("splitPlaces, of %s, finds the place and keeps every character", (text, place) => {
  const pieces = splitPlaces(text);
  expect(pieces.flatMap((piece) => piece.place ?? [])).toEqual([place]);
  expect(pieces.map((piece) => piece.text).join("")).toBe(text);
});

test.each(['  File "/usr/lib/python3.12/json/decoder.py", line 3, in decode', "line 3", ""])(
  "splitPlaces, of %j, finds no place of the commit's files",
  (text) => expect(splitPlaces(text)).toEqual([{ text, place: undefined }]),
);
