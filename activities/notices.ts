import { Context } from "@temporalio/activity";
import { ApplicationFailure } from "@temporalio/common";

/** Tries to send a notice. `over`: it is delivered, or never will be. `busy`: nothing was tried. A number: it was refused for so many times now. */
export type SendNotice = (noticeId: string) => Promise<"over" | "busy" | number>;

/** When one is tried again that found too many on their way to its place, or a process that stops. */
const BUSY_MS = 10_000;
/** Pauses after tries that were refused: 5 s, and three times as long after each, up to an hour. */
const REFUSED_MS = 5_000;
const REFUSED_GROWTH = 3;
const REFUSED_MS_MAX = 3_600_000;

/** The activities of `deliverNotice`. A message may be sent twice, where the answer to the first was lost. */
export function createNoticeActivities(deps: { send: SendNotice; giveUp: (noticeId: string) => Promise<void> }) {
  return {
    /** Tries to send a notice. Fails where another try may succeed, and says when: Temporal also counts what was no try. */
    async sendNotice({ noticeId }: { readonly noticeId: string }): Promise<void> {
      // A receiver that hangs does not hold up the end of a process: another one tries again.
      const context = Context.current();
      const stopped = context.cancelled.catch((error: unknown) => {
        if (context.cancellationDetails?.workerShutdown === true) return "stopped" as const;
        throw error;
      });
      const outcome = await Promise.race([deps.send(noticeId), stopped]);
      if (outcome === "over") return;
      if (typeof outcome === "string")
        throw ApplicationFailure.create({
          message: outcome === "busy" ? "Too many messages are on their way there." : "The worker is stopping.",
          type: outcome,
          nextRetryDelay: BUSY_MS,
        });
      // What the receiver answered is in the record, and not in the history.
      throw ApplicationFailure.create({
        message: "The receiver did not take it.",
        type: "undelivered",
        nextRetryDelay: Math.min(REFUSED_MS * REFUSED_GROWTH ** (outcome - 1), REFUSED_MS_MAX),
      });
    },
    /** Notes that a notice is not tried any more. */
    async giveUpNotice({ noticeId }: { readonly noticeId: string }): Promise<void> {
      await deps.giveUp(noticeId);
    },
  };
}

export type NoticeActivities = ReturnType<typeof createNoticeActivities>;
