import { expect, test } from "@jest/globals";
import { isMarkup, previewKind } from "../../../web/src/preview/kinds.ts";

test.each([
  ["text/html; charset=utf-8", "page.html", "text"],
  ["image/svg+xml", "drawing.svg", "text"],
  ["application/xhtml+xml", "page.xhtml", "text"],
  ["image/png", "plot.png", "image"],
  ["application/json", "a.json", "json"],
  ["text/csv", "a.csv", "table"],
  ["application/octet-stream", "a.csv", "table"],
  ["text/plain; charset=utf-8", "a.tsv", "table"],
  ["text/plain", "notes", "text"],
  ["application/pdf", "a.pdf", "pdf"],
  ["audio/mpeg", "a.mp3", "audio"],
  ["video/mp4", "a.mp4", "video"],
  ["application/zip", "a.zip", "archive"],
  ["application/octet-stream", "a.jsonl", "lines"],
  ["application/octet-stream", "a.ipynb", "notebook"],
  ["text/markdown", "a.md", "markdown"],
  ["text/plain", "a.md", "markdown"],
  ["text/html", "a.md", "text"],
  ["", "unknown", "none"],
])("previewKind, of %s named %s, is %s", (contentType, fileName, kind) => {
  expect(previewKind(contentType, fileName)).toBe(kind);
});

test("previewKind, of anything that could run, is its source, whatever it is called", () => {
  for (const type of ["text/html", "image/svg+xml", "application/xhtml+xml"]) {
    expect(previewKind(type, "photo.png")).toBe("text");
    expect(isMarkup(type, "photo.png")).toBe(true);
  }
});
