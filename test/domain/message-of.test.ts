import { expect, test } from "@jest/globals";
import { messageOf } from "../../domain/message-of.ts";

test("the message of an error that holds several, and says nothing itself, is theirs", () => {
  // What Node throws for a host with two addresses that answers on neither.
  const attempts = ["connect ECONNREFUSED ::1:5432", "connect ECONNREFUSED 127.0.0.1:5432"];
  const errors = attempts.map((attempt) => new Error(attempt));
  expect(messageOf(new AggregateError(errors))).toBe(attempts.join("; "));
  expect(messageOf(new AggregateError(errors, "Both refused."))).toBe("Both refused.");
});

test("the message of what is no error is its text", () => {
  expect([messageOf("no"), messageOf(7), messageOf(new Error("why"))]).toEqual(["no", "7", "why"]);
});
