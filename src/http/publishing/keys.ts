import type { RequestHandler } from "express";
import {
  endReplacedKey,
  findCurrentKey,
  type LivingKey,
  listLivingKeys,
  rotateKey,
} from "../../../db/accounts/api-keys.ts";
import { findCommit } from "../../../db/commits/commits.ts";
import { listRefusedCalls } from "../../../db/executions/refused-calls.ts";
import { EndedKey, KeyList, KeyRotation, RefusedCallList, RotatedKey, WholeKey } from "../../../domain/api/keys.ts";
import type { Manifest } from "../../../domain/manifest/manifest.ts";
import { createApiKey, hashApiKey } from "../../keys/api-key.ts";
import { readBody, sendAnswer } from "../answers/body.ts";
import { authorizeAccountWorkflow } from "../auth/workflow-access.ts";
import type { AppDeps } from "../deps.ts";
import { ApiError } from "../errors.ts";

type Deps = Pick<AppDeps, "db" | "secretBox" | "log">;

const PREFIX_CHARACTERS = 4;
const SHOWN_CHARACTERS = 4;
/** Hex digits of a key's hash that name it. 64 bits, of the few keys of one workflow. */
const ID_DIGITS = 16;

/** `GET …/keys`: every key that opens the workflow now, with its last use, masked. */
export function createKeysRoute({ db, secretBox }: Pick<Deps, "db" | "secretBox">): RequestHandler {
  return async (request, response) => {
    const { workflow } = await authorizeAccountWorkflow(db, request, "read");
    const [keys, head] = await Promise.all([
      listLivingKeys(db, workflow.id),
      workflow.head === null ? undefined : findCommit(db, workflow.id, workflow.head),
    ]);
    const toListed = ({ encrypted, hash, ...times }: LivingKey) => ({
      keyId: toKeyId(hash),
      masked: mask(secretBox.open(encrypted, workflow.id).toString()),
      ...times,
    });
    const apiEnabled = (head?.manifest as Manifest | undefined)?.triggers.api?.enabled === true;
    sendAnswer(response, KeyList, { keys: keys.map(toListed), apiEnabled });
  };
}

/** `GET …/refused-calls`: calls of programs that were refused within a week. */
export function createRefusedCallsRoute({ db }: Pick<Deps, "db">): RequestHandler {
  return async (request, response) => {
    const { workflow } = await authorizeAccountWorkflow(db, request, "read");
    sendAnswer(response, RefusedCallList, { calls: await listRefusedCalls(db, workflow.id) });
  };
}

/** `GET …/key`: the current key itself, for callers who may use it. */
export function createKeyRoute({ db, secretBox, log }: Deps): RequestHandler {
  return async (request, response) => {
    const { caller, workflow } = await authorizeAccountWorkflow(db, request, "write");
    const encrypted = await findCurrentKey(db, workflow.id);
    if (encrypted === undefined) throw new ApiError("workflow_not_found", "The workflow was deleted meanwhile.");
    log.info({ event: "key.revealed", workflowId: workflow.id, userId: caller.userId }, "An API key was shown.");
    sendAnswer(response, WholeKey, { apiKey: secretBox.open(encrypted, workflow.id).toString() });
  };
}

/** `POST …/keys`: makes a new key. The old one works on for the grace chosen, or ends now; keys replaced earlier end now. */
export function createKeyRotationRoute({ db, secretBox, log }: Deps): RequestHandler {
  return async (request, response) => {
    const { caller, workflow } = await authorizeAccountWorkflow(db, request, "write");
    const { graceSeconds } = await readBody(request, KeyRotation);
    const apiKey = createApiKey();
    const rotated = await rotateKey(db, {
      workflowId: workflow.id,
      keyHash: hashApiKey(apiKey),
      keyEncrypted: secretBox.seal(apiKey, workflow.id),
      graceSeconds,
    });
    if (rotated === undefined) throw new ApiError("workflow_not_found", "The workflow was deleted meanwhile.");
    log.info({ event: "key.rotated", workflowId: workflow.id, userId: caller.userId }, "An API key was replaced.");
    sendAnswer(response, RotatedKey, { apiKey, previousKeyExpiresAt: rotated.previousKeyExpiresAt }, 201);
  };
}

/** `DELETE …/keys/:keyId`: ends a replaced key now. The current one can only be replaced. */
export function createKeyEndRoute({ db, log }: Pick<Deps, "db" | "log">): RequestHandler {
  return async (request, response) => {
    const { caller, workflow } = await authorizeAccountWorkflow(db, request, "write");
    const { keyId } = request.params;
    const key = (await listLivingKeys(db, workflow.id)).find(({ hash }) => toKeyId(hash) === keyId);
    if (key === undefined)
      throw new ApiError("not_found", "The workflow has no such key, or it has ended. List its keys and try again.");
    if (key.expiresAt === null)
      throw new ApiError("conflict", "This is the current key. Replace it; without grace, it ends at once.");
    const ended = await endReplacedKey(db, { workflowId: workflow.id, hash: key.hash });
    const line = { event: "key.ended", workflowId: workflow.id, userId: caller.userId, keyId };
    log.info(line, "A replaced API key was ended.");
    sendAnswer(response, EndedKey, { keyId: toKeyId(key.hash), ended });
  };
}

function toKeyId(hash: Buffer): string {
  return `key_${hash.toString("hex").slice(0, ID_DIGITS)}`;
}

function mask(apiKey: string): string {
  return `${apiKey.slice(0, PREFIX_CHARACTERS)}••••••••${apiKey.slice(-SHOWN_CHARACTERS)}`;
}
