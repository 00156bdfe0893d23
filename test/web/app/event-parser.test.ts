import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { createEventParser } from "../../../web/src/app/event-parser.ts";

const STREAM =
  'event: status\ndata: {"status":"running"}\n\n: still running\n\nid: 1\ndata: {"text":"one"}\n\nid: 2\r\ndata: two\r\ndata: lines\r\n\r\nevent: result\ndata: {}\n\n';
const EVENTS = [
  { id: "", name: "status", data: '{"status":"running"}' },
  { id: "1", name: "message", data: '{"text":"one"}' },
  { id: "2", name: "message", data: "two\nlines" },
  { id: "2", name: "result", data: "{}" },
];

test("event parser, given a whole stream, finds each event with the last id before it", () => {
  expect(createEventParser()(STREAM)).toEqual(EVENTS);
});

test("event parser, however the stream is cut, finds the same events", () => {
  fc.assert(
    fc.property(fc.array(fc.nat(STREAM.length), { maxLength: 12 }), (cuts) => {
      // A line end of two characters is never cut by a server that writes whole lines.
      const places = [...new Set([0, ...cuts, STREAM.length])].sort((a, b) => a - b);
      const safe = places.filter((at) => STREAM[at - 1] !== "\r");
      const parse = createEventParser();
      const found = safe.slice(1).flatMap((to, index) => parse(STREAM.slice(safe[index], to)));
      expect(found).toEqual(EVENTS);
    }),
  );
});

test("event parser, given half an event, waits for the rest", () => {
  const parse = createEventParser();
  expect(parse("data: ha")).toEqual([]);
  expect(parse("lf\n")).toEqual([]);
  expect(parse("\n")).toEqual([{ id: "", name: "message", data: "half" }]);
});
