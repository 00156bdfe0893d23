import type { RequestHandler } from "express";
import { z } from "zod";
import { insertAccessToken, listAccessTokens, revokeAccessToken } from "../../../db/access-tokens.ts";
import type { Db } from "../../../db/connect.ts";
import { TOKEN_DAYS_MAX } from "../../../domain/members.ts";
import { createAccessToken, hashToken } from "../../keys/tokens.ts";
import { ApiError } from "../errors.ts";
import { StorableText } from "../operator/body.ts";
import { authorizeUser } from "./authorize.ts";
import { readBody } from "./body.ts";

export const NewToken = z.strictObject({
  name: StorableText.min(1).max(100),
  days: z.int().min(1).max(TOKEN_DAYS_MAX).nullable(),
});

/** The caller's access tokens. What they are is not kept anywhere. */
export function createTokensRoute({ db }: { db: Db }): RequestHandler {
  return async (request, response) => {
    const { userId } = await authorizeUser(db, request);
    response.json({ tokens: await listAccessTokens(db, userId) });
  };
}

/** Makes an access token and shows it, this once. One made with a token ends no later than that one: who finds it gains no time. */
export function createTokenRoute({ db }: { db: Db }): RequestHandler {
  return async (request, response) => {
    const { userId, tokenExpiresAt } = await authorizeUser(db, request);
    const { name, days } = await readBody(request, NewToken);
    const token = createAccessToken();
    const made = await insertAccessToken(db, {
      ...{ userId, name, days, tokenHash: hashToken(token) },
      expiresBy: tokenExpiresAt,
    });
    if (made.kind === "too_many")
      throw new ApiError("conflict", "You have as many access tokens as may be, 100. Revoke some first.");
    response.status(201).json({ ...made.token, token });
  };
}

/** Ends one of the caller's access tokens at once. */
export function createTokenRevocationRoute({ db }: { db: Db }): RequestHandler {
  return async (request, response) => {
    const { userId } = await authorizeUser(db, request);
    const tokenId = String(request.params["tokenId"]);
    if (!(await revokeAccessToken(db, { userId, tokenId })))
      throw new ApiError("not_found", "You have no such access token, or it is over already.");
    response.json({ tokenId, revoked: true });
  };
}
