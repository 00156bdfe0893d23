import { z } from "zod";
import { NOTICE_KINDS, NOTICE_STATES, PLACE_KINDS, PLACE_NAME, TARGET_CHARACTERS_MAX } from "../notices.ts";
import { Count, StorableText, Time, WorkflowId } from "./fields.ts";
import { GRACE_SECONDS_MAX } from "./limits.ts";

/** The name of a place, as a body or a path gives it. */
export const PlaceName = z
  .string()
  .regex(PLACE_NAME, "must have at most 40 letters, digits, - and _, a letter or digit first")
  .meta({ maxLength: 40 });

const Kind = z.enum(PLACE_KINDS).meta({
  description: "`email`, or a URL: `webhook` gets signed JSON, `slack` and `teams` what those understand.",
});
const Target = StorableText.trim()
  .min(1)
  .max(TARGET_CHARACTERS_MAX)
  .meta({ description: "An e-mail address, or a URL that begins with https://." });

/** A place to add. */
export const NewPlace = z.strictObject({ name: PlaceName, kind: Kind, target: Target });

/** Another target for a place. */
export const PlaceChange = z.strictObject({ target: Target });

const Place = z.object({
  name: z.string().max(40),
  kind: z.enum(PLACE_KINDS),
  target: z.string().meta({ description: "An e-mail address. Of a URL only the host: the rest may be a secret." }),
  createdBy: z.string().meta({ description: "The member, by e-mail address, or `operator`." }),
  createdAt: Time,
  previousSecretUntil: Time.nullable().meta({ description: "Until when the secret before signs, too." }),
  disabledAt: Time.nullable().meta({ description: "Since when nothing is sent there. Null: it is in use." }),
  disabledReason: z.string(),
});

export const PlaceList = z.object({
  places: z.array(
    Place.extend({
      usedBy: z
        .array(z.object({ workflowId: WorkflowId, name: z.string() }))
        .meta({ description: "Workflows whose latest commit names it." }),
    }),
  ),
});

const Secret = z
  .string()
  .nullable()
  .meta({ description: "Of a webhook: what its messages are signed with. It is shown this once." });
export const AddedPlace = Place.extend({ secret: Secret });
export const ChangedPlace = Place;
export const RemovedPlace = z.object({ name: z.string(), removed: z.boolean() });

export const SecretRotation = z.strictObject({ graceSeconds: z.int().min(0).max(GRACE_SECONDS_MAX).default(0) });
export const RotatedSecret = z.object({
  name: z.string(),
  secret: z.string().meta({ description: "It is shown this once." }),
  previousSecretUntil: Time.nullable(),
});

/** What became of one message to one place. */
const Notice = z.object({
  noticeId: z
    .string()
    .regex(/^nt_[0-9a-z]{16,40}$/)
    .max(43)
    .meta({ description: "Also the `webhook-id` of the message, in each try." }),
  place: z.string().nullable().meta({ description: "Null: the result of a call, which goes where that call said." }),
  kind: z.enum(NOTICE_KINDS),
  workflowId: WorkflowId.nullable(),
  executionId: z.string().nullable(),
  state: z.enum(NOTICE_STATES),
  createdAt: Time,
  dueAt: Time.meta({ description: "Not sent before: more of a storm may come until then." }),
  more: Count.meta({ description: "How many others it tells of as well." }),
  attempts: Count.meta({ description: "How often it was tried." }),
  lastAttemptAt: Time.nullable(),
  answer: z.string().meta({ description: "What the receiver answered at last, or what was in the way." }),
});
export const SentNotice = Notice;
export const NoticeList = z.object({
  notices: z.array(Notice).meta({ description: "The newest first." }),
  next: z.string().nullable().meta({ description: "`before` of the next page. Null: there is none." }),
});
