import type { Db } from "../../db/connect.ts";
import type { Storage } from "../../storage/storage.ts";
import type { Defer } from "../../system/releases.ts";
import type { MailSettings } from "../config.ts";
import type { SecretBox } from "../keys/secret-box.ts";
import type { Log } from "../log.ts";
import { createReceiverAddresses, type ReceiverAddresses, type ReceiverRules } from "./addresses.ts";
import { createSendMail } from "./mail.ts";
import { createPostNotice } from "./receivers.ts";
import { createSending, type Sending } from "./sending.ts";

/** Notices as the other rooms see them. */
export interface Notices extends Sending {
  readonly addresses: ReceiverAddresses;
  /** Host names, with a port or without, that a call may have its result sent to. */
  readonly callHosts: readonly string[];
  /** Whether this installation can send mail. */
  readonly sendsMail: boolean;
}

/** Opens what sends notices from this process. */
export function openNotices(
  deps: {
    readonly db: Db;
    readonly storage: Storage;
    readonly secretBox: SecretBox;
    readonly rules: ReceiverRules;
    readonly callHosts: readonly string[];
    /** Undefined: this installation cannot send mail. */
    readonly mail: MailSettings | undefined;
    readonly publicUrl: string | undefined;
    readonly log: Log;
  },
  defer: Defer,
): Notices {
  const addresses = createReceiverAddresses(deps.rules);
  const post = createPostNotice(addresses);
  defer(() => post.close());
  const { db, storage, secretBox, publicUrl = null, log } = deps;
  const sendMail = deps.mail && createSendMail(deps.mail);
  const sending = createSending({ db, storage, secretBox, post, sendMail, publicUrl, log });
  return Object.assign({ addresses, callHosts: deps.callHosts, sendsMail: sendMail !== undefined }, sending);
}
