import { expect } from "@jest/globals";
import { ERROR_TEXT, type ErrorCode } from "../../domain/errors.ts";
import { STATUS } from "../../src/http/errors.ts";
import type { Reply } from "./wire.ts";

const INPUT_PROBLEM = { input: expect.any(String), message: expect.any(String) };
const FILE_PROBLEM = {
  file: expect.any(String),
  line: expect.any(Number),
  column: expect.any(Number),
  message: expect.any(String),
};
/** An answer says what is wrong; it does not repeat what was sent. */
const ERROR_BYTES_MAX = 100_000;

/** An error is what docs/errors.md promises: one of the fixed texts, with its status, and words for a person. */
export function expectDocumented(reply: Reply): void {
  expect(reply.headers.get("content-type")).toBe("application/json; charset=utf-8");
  expect(reply.headers.get("x-request-id")).toMatch(/^req_/);
  expect(reply.body.length).toBeLessThan(ERROR_BYTES_MAX);
  const body = JSON.parse(reply.body.toString("utf8")) as Record<string, unknown>;
  const codes = (Object.keys(ERROR_TEXT) as ErrorCode[]).filter((code) => ERROR_TEXT[code] === body["error"]);
  expect(codes.map((code) => STATUS[code])).toContain(reply.status);
  expect(body["message"]).toEqual(expect.stringMatching(/\S/));
  const { error: _error, message: _message, details, ...others } = body;
  expect(Object.keys(others)).toEqual([]);
  if (details === undefined) return;
  expect(Array.isArray(details)).toBe(true);
  for (const detail of details as object[]) expect(detail).toEqual("file" in detail ? FILE_PROBLEM : INPUT_PROBLEM);
}
