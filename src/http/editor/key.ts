import type { RequestHandler } from "express";
import { z } from "zod";
import { findCurrentKey, rotateKey } from "../../../db/api-keys.ts";
import { findCommit } from "../../../db/commits.ts";
import { endReplacedKeys, findPreviousKeyExpiry } from "../../../db/replaced-keys.ts";
import type { Manifest } from "../../../domain/manifest/manifest.ts";
import { createApiKey, hashApiKey } from "../../keys/api-key.ts";
import type { AppDeps } from "../deps.ts";
import { ApiError } from "../errors.ts";
import { parseRequest } from "../operator/body.ts";
import { readBody } from "./body.ts";
import { authorizeWorkflowEditor } from "./workflow-access.ts";

type Deps = Pick<AppDeps, "db" | "secretBox" | "log">;

export const GRACE_DAYS_MAX = 7;
const DAY_SECONDS = 86_400;
const PREFIX_CHARACTERS = 4;
const SHOWN_CHARACTERS = 4;

const Query = z.object({ reveal: z.enum(["true", "false"]).default("false") });
export const KeyRotation = z.strictObject({ graceDays: z.int().min(0).max(GRACE_DAYS_MAX) });

/** `GET …/key`: enough of the key to know it again; the key itself to who may use it and asks for it. */
export function createKeyRoute({ db, secretBox, log }: Deps): RequestHandler {
  return async (request, response) => {
    const { caller, workflow } = await authorizeWorkflowEditor(db, request, "read");
    const reveal = parseRequest(Query, request.query).reveal === "true";
    if (reveal && caller.role === "viewer")
      throw new ApiError("forbidden", "A viewer cannot see the API key: with it, others could run the workflow.");
    const [encrypted, previousKeyExpiresAt, head] = await Promise.all([
      findCurrentKey(db, workflow.id),
      findPreviousKeyExpiry(db, workflow.id),
      workflow.head === null ? undefined : findCommit(db, workflow.id, workflow.head),
    ]);
    if (encrypted === undefined) throw new ApiError("workflow_not_found", "The workflow was deleted meanwhile.");
    const apiKey = secretBox.open(encrypted, workflow.id).toString();
    if (reveal)
      log.info({ event: "key.revealed", workflowId: workflow.id, userId: caller.userId }, "An API key was shown.");
    response.json({
      masked: mask(apiKey),
      ...(reveal ? { apiKey } : {}),
      previousKeyExpiresAt,
      apiEnabled: (head?.manifest as Manifest | undefined)?.triggers.api?.enabled === true,
    });
  };
}

/** `POST …/key/rotate`: a new key; the old one works on for the days chosen, or ends now. */
export function createKeyRotationRoute({ db, secretBox, log }: Deps): RequestHandler {
  return async (request, response) => {
    const { caller, workflow } = await authorizeWorkflowEditor(db, request, "write");
    const { graceDays } = await readBody(request, KeyRotation);
    const apiKey = createApiKey();
    const rotated = await rotateKey(db, {
      workflowId: workflow.id,
      keyHash: hashApiKey(apiKey),
      keyEncrypted: secretBox.seal(apiKey, workflow.id),
      graceSeconds: graceDays * DAY_SECONDS,
    });
    if (rotated === undefined) throw new ApiError("workflow_not_found", "The workflow was deleted meanwhile.");
    log.info({ event: "key.rotated", workflowId: workflow.id, userId: caller.userId }, "An API key was replaced.");
    response.json({ apiKey, previousKeyExpiresAt: rotated.previousKeyExpiresAt });
  };
}

/** `POST …/key/end-previous`: the keys that were replaced and still work end now; the current one stays. */
export function createKeyEndRoute({ db, log }: Pick<Deps, "db" | "log">): RequestHandler {
  return async (request, response) => {
    const { caller, workflow } = await authorizeWorkflowEditor(db, request, "write");
    const ended = await endReplacedKeys(db, workflow.id);
    const line = { event: "key.ended", workflowId: workflow.id, userId: caller.userId, ended };
    log.info(line, "API keys that had been replaced were ended.");
    response.json({ ended });
  };
}

function mask(apiKey: string): string {
  return `${apiKey.slice(0, PREFIX_CHARACTERS)}••••••••${apiKey.slice(-SHOWN_CHARACTERS)}`;
}
