import type { StoredPlace } from "../../db/notices/places.ts";
import type { Endpoint } from "../../domain/destinations.ts";
import type { AccountId } from "../../domain/ids.ts";
import type { PlaceKind } from "../../domain/notices.ts";
import type { SecretBox } from "../keys/secret-box.ts";
import type { ReceiverAddresses } from "./addresses.ts";

type Box = Pick<SecretBox, "seal" | "open">;
type Named = Pick<StoredPlace, "accountId" | "name">;

/** What a sealed part of a place belongs to: a box that is copied to another row opens nothing. */
function contextOf(part: "target" | "secret", { accountId, name }: Named): string {
  return `notice place ${part} ${accountId} ${name}`;
}

export function sealTarget(box: Box, place: Named, target: string): Buffer {
  return box.seal(target, contextOf("target", place));
}

export function openTarget(box: Box, place: Named & Pick<StoredPlace, "target">): string {
  return box.open(place.target, contextOf("target", place)).toString("utf8");
}

export function sealSecret(box: Box, place: { accountId: AccountId; name: string }, secret: string): Buffer {
  return box.seal(secret, contextOf("secret", place));
}

/** Returns the secrets that a webhook is signed with now, the newest first. */
export function openSecrets(box: Box, place: StoredPlace): string[] {
  return [place.secret, place.previousSecret].flatMap((sealed) =>
    sealed === null ? [] : [box.open(sealed, contextOf("secret", place)).toString("utf8")],
  );
}

/** What is shown of a target. All of a URL may be a secret, but for its host. */
export function showTarget(kind: PlaceKind, target: string): string {
  return kind === "email" ? target : `${new URL(target).origin}/…`;
}

/** Where the operator has set no server for mail. */
export const NO_MAIL =
  "This installation cannot send mail. Its operator can set TREADLE_SMTP_URL and TREADLE_SMTP_FROM.";

/** An address that one mail goes to: no list, no name, nothing that begins another header. */
const EMAIL = /^[^\s@<>,;:"()[\]\\]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$/;

/** Returns why a target cannot be that of a place of this kind, as a sentence; undefined when it can. */
export function findTargetProblem(
  kind: PlaceKind,
  target: string,
  { addresses, sendsMail }: { readonly addresses: ReceiverAddresses; readonly sendsMail: boolean },
  granted: readonly Endpoint[],
): string | undefined {
  if (kind === "email") {
    if (!sendsMail) return NO_MAIL;
    return EMAIL.test(target) ? undefined : "This is no e-mail address. Give one, such as ops@example.com.";
  }
  if (!URL.canParse(target)) return "This is no URL. Give one that begins with https://.";
  const problem = addresses.findProblem(new URL(target), granted);
  return problem === undefined ? undefined : `The URL cannot be told: ${problem}`;
}
