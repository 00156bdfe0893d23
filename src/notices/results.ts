import type { Db } from "../../db/connect.ts";
import { findExecution } from "../../db/executions/executions.ts";
import type { CallReceiver } from "../../db/notices/call-receivers.ts";
import type { Notice } from "../../db/notices/notices.ts";
import type { AccountId, ExecutionId } from "../../domain/ids.ts";
import { envelope } from "../executions/envelope.ts";
import { openAccountBox } from "../keys/data-keys.ts";
import type { SecretBox } from "../keys/secret-box.ts";

interface Owned {
  readonly accountId: AccountId;
  readonly executionId: ExecutionId;
}

/** What a sealed part belongs to: a box that is copied to another row opens nothing. */
function contextOf(part: "target" | "secret", { executionId }: Owned): string {
  return `call receiver ${part} ${executionId}`;
}

/** Seals where a call wants its result, and what the message is signed with. */
export async function sealReceiver(
  deps: { readonly db: Db; readonly secretBox: SecretBox },
  call: Owned & { readonly url: string; readonly secret: string | null; readonly apiUrl: string },
): Promise<CallReceiver> {
  const box = await openAccountBox(deps.db, deps.secretBox, call.accountId);
  return {
    target: box.seal(call.url, contextOf("target", call)),
    secret: call.secret === null ? null : box.seal(call.secret, contextOf("secret", call)),
    apiUrl: call.apiUrl,
  };
}

/** Opens what `sealReceiver` has sealed. */
export async function openReceiver(
  deps: { readonly db: Db; readonly secretBox: SecretBox },
  call: Owned,
  receiver: CallReceiver,
): Promise<{ readonly url: URL; readonly secrets: readonly string[] }> {
  const box = await openAccountBox(deps.db, deps.secretBox, call.accountId);
  const open = (sealed: Buffer, part: "target" | "secret"): string =>
    box.open(sealed, contextOf(part, call)).toString("utf8");
  return {
    url: new URL(open(receiver.target, "target")),
    secrets: receiver.secret === null ? [] : [open(receiver.secret, "secret")],
  };
}

/** The message with the result of a call: what its address answers. Undefined: it is not on record any more. */
export async function toResultPayload(
  db: Db,
  { id, createdAt, executionId }: Pick<Notice, "id" | "createdAt"> & { readonly executionId: ExecutionId },
  apiUrl: string,
): Promise<object | undefined> {
  const execution = await findExecution(db, executionId);
  if (execution === undefined) return undefined;
  return {
    type: "run.ended",
    timestamp: createdAt,
    data: Object.assign({ noticeId: id }, envelope(execution, apiUrl)),
  };
}
