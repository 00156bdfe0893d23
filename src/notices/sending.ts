import type { SendNotice } from "../../activities/notices.ts";
import type { Db } from "../../db/connect.ts";
import { findCallReceiver } from "../../db/notices/call-receivers.ts";
import { disablePlace, findWaitingNotice, giveUpNotice, type Notice, noteAttempt } from "../../db/notices/notices.ts";
import type { StoredPlace } from "../../db/notices/places.ts";
import type { PlaceKind } from "../../domain/notices.ts";
import type { Storage } from "../../storage/storage.ts";
import { openAccountBox } from "../keys/data-keys.ts";
import type { SecretBox } from "../keys/secret-box.ts";
import type { Log } from "../log.ts";
import { findNoticeFacts, type NoticeFacts } from "./facts.ts";
import { listGrantedEndpoints } from "./granted-endpoints.ts";
import type { SendMail } from "./mail.ts";
import { toLines, toPayload, toSlack, toTeams, toTitle } from "./message.ts";
import { NO_MAIL, openSecrets, openTarget } from "./places.ts";
import type { Delivery, PostNotice } from "./receivers.ts";
import { openReceiver, toResultPayload } from "./results.ts";
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
  /** `busy`: too many are on their way to the same place. */
  readonly send: SendNotice;
  /** Gives one up that could not be delivered within its time. */
  giveUp(noticeId: string): Promise<void>;
}

/** Where one notice goes. `key`: what it shares with others that go the same way. */
interface Receiver {
  readonly key: string;
  readonly name: string;
  deliver(): Promise<Delivery>;
}

const REMOVED: Delivery = { kind: "refused", answer: "The execution is not on record any more." };

export function createSending(deps: SendingDeps): Sending {
  const { db, log } = deps;
  const underWay = new Map<string, number>();
  let total = 0;

  async function deliverToPlace(notice: Notice, place: StoredPlace): Promise<Delivery> {
    if (place.disabledAt !== null) return { kind: "refused", answer: `The place is disabled: ${place.disabledReason}` };
    const box = await openAccountBox(db, deps.secretBox, place.accountId);
    const facts = await findNoticeFacts(deps, notice);
    const target = openTarget(box, place);
    if (place.kind === "email") return mail(notice.id, target, facts);
    return postSigned(deps, notice, new URL(target), toBody(place.kind, facts), openSecrets(box, place));
  }

  /** Of the result of a call: where it goes, and how it is sent. */
  async function findReceiver(notice: Notice): Promise<Receiver> {
    const { id, accountId, createdAt, executionId } = notice;
    const receiver = executionId === null ? undefined : await findCallReceiver(db, executionId);
    if (executionId === null || receiver === undefined) return { key: id, name: "call", deliver: async () => REMOVED };
    const { url, secrets } = await openReceiver(deps, { accountId, executionId }, receiver);
    return {
      key: `${accountId} ${url.host}`,
      name: "call",
      async deliver() {
        const message = await toResultPayload(db, { id, createdAt, executionId }, receiver.apiUrl);
        return message === undefined ? REMOVED : postSigned(deps, notice, url, message, secrets);
      },
    };
  }

  async function mail(id: string, to: string, facts: NoticeFacts): Promise<Delivery> {
    if (deps.sendMail === undefined) return { kind: "failed", answer: NO_MAIL };
    return deps.sendMail({ id, to, subject: toTitle(facts), text: `${toLines(facts).join("\n")}\n` });
  }

  return {
    async send(noticeId) {
      const claimed = await findWaitingNotice(db, noticeId);
      if (claimed === undefined) return "over";
      const { notice, place } = claimed;
      const { key, name, deliver } =
        place === undefined
          ? await findReceiver(notice)
          : { key: place.id, name: place.name, deliver: () => deliverToPlace(notice, place) };
      const count = underWay.get(key) ?? 0;
      if (count >= PLACE_SENDS_MAX || total >= SENDS_MAX) return "busy";
      underWay.set(key, count + 1);
      total += 1;
      try {
        const { kind, answer } = await deliver();
        const isOver = kind !== "failed";
        const state = kind === "delivered" ? "delivered" : isOver ? "failed" : "waiting";
        const tries = await noteAttempt(db, { id: noticeId, state, answer });
        log.info({ event: "notice.tried", noticeId, place: name, outcome: kind }, "A notice was tried to be sent.");
        if (kind === "gone" && place !== undefined)
          await disablePlace(db, place.id, "The receiver answered 410: it wants nothing more.");
        return isOver ? "over" : (tries ?? "over");
      } finally {
        total -= 1;
        const left = (underWay.get(key) ?? 1) - 1;
        if (left === 0) underWay.delete(key);
        else underWay.set(key, left);
      }
    },
    giveUp: (noticeId) => giveUpNotice(db, noticeId),
  };
}

/** Posts a message. What is granted is looked at for each try: from its end on nothing goes there. */
async function postSigned(
  { db, post }: Pick<SendingDeps, "db" | "post">,
  { id, accountId }: Pick<Notice, "id" | "accountId">,
  url: URL,
  message: object,
  secrets: readonly string[],
): Promise<Delivery> {
  const body = JSON.stringify(message);
  const headers = secrets.length === 0 ? { "webhook-id": id } : signWebhook({ id, body, at: new Date() }, secrets);
  return post(url, body, headers, await listGrantedEndpoints(db, accountId));
}

function toBody(kind: PlaceKind, facts: NoticeFacts): object {
  if (kind === "slack") return toSlack(facts);
  return kind === "teams" ? toTeams(facts) : toPayload(facts);
}
