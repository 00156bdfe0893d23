import { expect, test } from "@jest/globals";
import { ActivityCancellationDetails } from "@temporalio/common";
import { MockActivityEnvironment } from "@temporalio/testing";
import { createNoticeActivities, type SendNotice } from "../../activities/notices.ts";

/** What a try comes to, in Temporal: nothing, or a failure and the pause after it. */
async function attempt(send: SendNotice, cancelled?: ActivityCancellationDetails): Promise<unknown> {
  const environment = new MockActivityEnvironment();
  const { sendNotice } = createNoticeActivities({ send, giveUp: () => Promise.reject(new Error("It was given up.")) });
  const tried = environment.run(sendNotice, { noticeId: "nt_1" }).then(
    () => "done",
    ({ type, nextRetryDelay, name }) => [type ?? name, nextRetryDelay],
  );
  if (cancelled) environment.cancel("CANCELLED", cancelled);
  return tried;
}

const HANGS: SendNotice = () => new Promise(() => undefined);

test.each<[string, SendNotice, unknown]>([
  ["that needs no other is the last", async () => "over", "done"],
  ["that the receiver refuses is followed by one after 5 s", async () => 1, ["undelivered", 5_000]],
  ["that it refuses for the fourth time, by one after 135 s", async () => 4, ["undelivered", 135_000]],
  ["that it refuses for the twentieth time, by one after an hour", async () => 20, ["undelivered", 3_600_000]],
  ["that finds too many on their way is made again after 10 s", async () => "busy", ["busy", 10_000]],
])("a try to send a notice %s", async (_what, send, expected) => {
  expect(await attempt(send)).toEqual(expected);
});

test("a try to send a notice, while its process stops, is made again after 10 s by another", async () => {
  expect(await attempt(HANGS, new ActivityCancellationDetails({ workerShutdown: true }))).toEqual(["stopped", 10_000]);
});

test("a try to send a notice, whose workflow is cancelled, ends as cancelled", async () => {
  const cancelled = new ActivityCancellationDetails({ cancelRequested: true });
  expect(await attempt(HANGS, cancelled)).toEqual(["CancelledFailure", undefined]);
});
