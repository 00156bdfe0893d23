import { expect, test } from "@jest/globals";
import { queueWords } from "../../../web/src/execution/queue-words.ts";

test.each([
  [null, null, "It waits to be started."],
  [1, null, "It is the next to run. This workflow has a limit of runs at the same time."],
  [2, null, "1 other run of this workflow is before it."],
  [4, null, "3 other runs of this workflow are before it."],
  [null, 1, "It is the next to run when a slot is free."],
  [null, 2, "It waits for a free slot. 1 other run is before it."],
  [null, 5, "It waits for a free slot. 4 other runs are before it."],
])("queueWords, at %s of its workflow and %s of all, counts those before it", (queuePosition, slotPosition, words) => {
  expect(queueWords({ queuePosition, slotPosition })).toBe(words);
});
