import { expect, test } from "@jest/globals";
import { toPieces } from "../../../web/src/execution/ansi.ts";
import { createLogLines, findLines, type LogLine, toPlain, toShown } from "../../../web/src/execution/log-lines.ts";

const ESCAPE = "\u001b";

function line(text: string): LogLine {
  return { time: "2026-11-21T12:00:00.000Z", stream: "stdout", text };
}

test("toPieces, of a line without marks, is the line", () => {
  expect(toPieces("plain <b>")).toEqual([
    expect.objectContaining({ text: "plain <b>", colour: undefined, bold: false }),
  ]);
});

test("toPieces, of named, numbered and exact colours, names the theme's or gives the colour", () => {
  const text = `${ESCAPE}[32mok${ESCAPE}[0m ${ESCAPE}[1;91mbad${ESCAPE}[0m${ESCAPE}[38;5;196mred${ESCAPE}[48;2;1;2;3mon${ESCAPE}[0m`;
  expect(toPieces(text).map((piece) => [piece.text, piece.colour, piece.background, piece.bold])).toEqual([
    ["ok", "var(--ansi-green)", undefined, false],
    [" ", undefined, undefined, false],
    ["bad", "var(--ansi-bright-red)", undefined, true],
    ["red", "rgb(255, 0, 0)", undefined, false],
    ["on", "rgb(255, 0, 0)", "rgb(1, 2, 3)", false],
  ]);
});

test("toPlain, of marks that are no colours, leaves the text alone", () => {
  expect(toPlain(`${ESCAPE}[2K${ESCAPE}]0;title\u0007a${ESCAPE}[1Ab`)).toBe("ab");
});

test("toShown, of a line that was begun anew, is what stands there in the end", () => {
  expect(toShown("plain")).toBe("plain");
  expect(toShown(" 10%\r 50%\r100%")).toBe("100%");
  expect(toShown("done\r")).toBe("done");
  expect(toShown("\r")).toBe("");
});

test("log lines, of a progress bar, are what stands there in the end", () => {
  const log = createLogLines();
  log.add([line(" 10%\r100%")]);
  expect(log.lines.map(({ text }) => text)).toEqual(["100%"]);
});

test("findLines, of text in other letters and between colours, finds its lines", () => {
  const lines = [line("Reading"), line(`${ESCAPE}[31mread${ESCAPE}[0ming on`), line("written")];
  expect(findLines(lines, "READING")).toEqual([0, 1]);
  expect(findLines(lines, "")).toEqual([]);
});

test("log lines, when a hundred thousand are added at once, keep them all and tell it once", () => {
  const log = createLogLines();
  let told = 0;
  const leave = log.subscribe(() => (told += 1));
  log.add(Array.from({ length: 100_000 }, (_, index) => line(`line ${index}`)));
  expect([log.count(), told, log.lines[99_999]?.text]).toEqual([100_000, 1, "line 99999"]);
  leave();
  log.clear();
  expect([log.count(), told]).toEqual([0, 1]);
});
