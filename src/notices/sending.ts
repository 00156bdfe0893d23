import type { SendNotice } from "../../activities/notices.ts";
import type { Db } from "../../db/connect.ts";
import {
  disablePlace,
  findWaitingNotice,
  giveUpNotice,
  noteAttempt,
  type WaitingNotice,
} from "../../db/notices/notices.ts";
import type { Storage } from "../../storage/storage.ts";
import { openAccountBox } from "../keys/data-keys.ts";
import type { SecretBox } from "../keys/secret-box.ts";
import type { Log } from "../log.ts";
import { findNoticeFacts, type NoticeFacts } from "./facts.ts";
import type { SendMail } from "./mail.ts";
import { toLines, toPayload, toSlack, toTeams, toTitle } from "./message.ts";
import { NO_MAIL, openSecrets, openTarget } from "./places.ts";
import type { Delivery, PostNotice } from "./receivers.ts";
import { signWebhook } from "./signature.ts";

/** Messages that are on their way to one place at a time: one that hangs holds up its own alone. */
const PLACE_SENDS_MAX = 4;
/** Of this process, to all places. */
const SENDS_MAX = 50;

export interface SendingDeps {
  readonly db: Db;
  readonly storage: Pick<Storage, "get" | "head">;
  readonly secretBox: SecretBox;
  readonly post: PostNotice;
  /** Undefined: this installation cannot send mail. */
  readonly sendMail: SendMail | undefined;
  /** What links of messages begin with; null: there are none. */
  readonly publicUrl: string | null;
  readonly log: Log;
}

/** What sends notices, one try at a time. */
export interface Sending {
  /** Tries to send one. `busy`: too many are on their way to the same place, and nothing was tried. */
  readonly send: SendNotice;
  /** Gives one up that could not be delivered within its time. */
  giveUp(noticeId: string): Promise<void>;
}

export function createSending(deps: SendingDeps): Sending {
  const { db, log } = deps;
  const underWay = new Map<string, number>();
  let total = 0;

  async function deliver({ notice, place }: WaitingNotice): Promise<Delivery> {
    if (place.disabledAt !== null) return { kind: "refused", answer: `The place is disabled: ${place.disabledReason}` };
    const box = await openAccountBox(db, deps.secretBox, place.accountId);
    const facts = await findNoticeFacts(deps, notice);
    const target = openTarget(box, place);
    if (place.kind === "email") return mail(notice.id, target, facts);
    const body = JSON.stringify(toBody(place.kind, facts));
    const secrets = openSecrets(box, place);
    const headers = secrets.length === 0 ? {} : signWebhook({ id: notice.id, body, at: new Date() }, secrets);
    return deps.post(new URL(target), body, headers);
  }

  async function mail(id: string, to: string, facts: NoticeFacts): Promise<Delivery> {
    if (deps.sendMail === undefined) return { kind: "failed", answer: NO_MAIL };
    return deps.sendMail({ id, to, subject: toTitle(facts), text: `${toLines(facts).join("\n")}\n` });
  }

  return {
    async send(noticeId) {
      const claimed = await findWaitingNotice(db, noticeId);
      if (claimed === undefined) return "over";
      const { id: placeId, name } = claimed.place;
      const count = underWay.get(placeId) ?? 0;
      if (count >= PLACE_SENDS_MAX || total >= SENDS_MAX) return "busy";
      underWay.set(placeId, count + 1);
      total += 1;
      try {
        const { kind, answer } = await deliver(claimed);
        const isOver = kind !== "failed";
        const state = kind === "delivered" ? "delivered" : isOver ? "failed" : "waiting";
        await noteAttempt(db, { id: noticeId, state, answer });
        log.info({ event: "notice.tried", noticeId, place: name, outcome: kind }, "A notice was tried to be sent.");
        if (kind === "gone") await disablePlace(db, placeId, "The receiver answered 410: it wants nothing more.");
        return isOver ? "over" : "failed";
      } finally {
        total -= 1;
        const left = (underWay.get(placeId) ?? 1) - 1;
        if (left === 0) underWay.delete(placeId);
        else underWay.set(placeId, left);
      }
    },
    giveUp: (noticeId) => giveUpNotice(db, noticeId),
  };
}

function toBody(kind: WaitingNotice["place"]["kind"], facts: NoticeFacts): object {
  if (kind === "slack") return toSlack(facts);
  return kind === "teams" ? toTeams(facts) : toPayload(facts);
}
