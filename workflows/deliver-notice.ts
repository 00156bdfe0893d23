import { isCancellation, proxyActivities } from "@temporalio/workflow";
import type { NoticeActivities } from "../activities/notices.ts";

/** Tries go on for a day. When the next one is due, the activity says; where it cannot, a process or the database was away. */
const { sendNotice } = proxyActivities<NoticeActivities>({
  startToCloseTimeout: "30 seconds",
  scheduleToCloseTimeout: "24 hours",
  retry: { initialInterval: "10 seconds", backoffCoefficient: 1 },
});
const { giveUpNotice } = proxyActivities<NoticeActivities>({
  startToCloseTimeout: "10 seconds",
  retry: { initialInterval: "1 second", maximumInterval: "1 minute" },
});

/** Sends one notice to its place, again and again until it arrives or a day is over. */
export async function deliverNotice({ noticeId }: { readonly noticeId: string }): Promise<void> {
  try {
    await sendNotice({ noticeId });
  } catch (error) {
    if (isCancellation(error)) throw error;
    await giveUpNotice({ noticeId });
  }
}
