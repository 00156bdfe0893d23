import { Context } from "@temporalio/activity";
import { ApplicationFailure } from "@temporalio/common";

/** What came of one try. `over`: it is delivered, or never will be. `busy`: nothing was tried. */
export type SendNotice = (noticeId: string) => Promise<"over" | "busy" | "failed">;

/** When one is tried again that found too many on their way to its place. */
const BUSY_MS = 10_000;

/** The activities of `deliverNotice`. A message may be sent twice, where the answer to the first was lost. */
export function createNoticeActivities(deps: { send: SendNotice; giveUp: (noticeId: string) => Promise<void> }) {
  return {
    /** Tries to send a notice. Fails where another try may succeed. */
    async sendNotice({ noticeId }: { readonly noticeId: string }): Promise<void> {
      // A receiver that hangs does not hold up the end of a process: another one tries again.
      const outcome = await Promise.race([deps.send(noticeId), Context.current().cancelled]);
      if (outcome === "over") return;
      if (outcome === "busy")
        throw ApplicationFailure.create({
          message: "Too many messages are on their way there.",
          type: "busy",
          nextRetryDelay: BUSY_MS,
        });
      // What the receiver answered is in the record, and not in the history.
      throw ApplicationFailure.retryable("The receiver did not take it.", "undelivered");
    },
    /** Notes that a notice is not tried any more. */
    async giveUpNotice({ noticeId }: { readonly noticeId: string }): Promise<void> {
      await deps.giveUp(noticeId);
    },
  };
}

export type NoticeActivities = ReturnType<typeof createNoticeActivities>;
