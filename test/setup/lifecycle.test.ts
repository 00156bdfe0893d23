import { EventEmitter } from "node:events";
import { expect, test } from "@jest/globals";
import { outliveRejections } from "../../src/lifecycle.ts";

test("outliveRejections, of a promise that nothing handles, logs it as a fault and ends nothing", () => {
  const events = new EventEmitter();
  const lines: unknown[] = [];
  outliveRejections(events as unknown as NodeJS.Process, { error: (facts: object) => void lines.push(facts) });
  const error = new Error("Nobody waited for this.");
  expect(events.emit("unhandledRejection", error)).toBe(true);
  expect(lines).toEqual([{ event: "fault", error }]);
});
