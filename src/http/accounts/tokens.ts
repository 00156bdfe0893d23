import type { RequestHandler } from "express";
import { insertAccessToken, listAccessTokens, revokeAccessToken } from "../../../db/accounts/access-tokens.ts";
import type { Db } from "../../../db/connect.ts";
import { MadeToken, NewToken, RevokedToken, TokenList } from "../../../domain/api/people.ts";
import { createAccessToken, hashToken } from "../../keys/tokens.ts";
import { readBody, sendAnswer } from "../answers/body.ts";
import { authorizeUser } from "../auth/authorize.ts";
import { ApiError } from "../errors.ts";

/** The caller's access tokens. What they are is not kept anywhere. */
export function createTokensRoute({ db }: { db: Db }): RequestHandler {
  return async (request, response) => {
    const { userId } = await authorizeUser(db, request);
    sendAnswer(response, TokenList, { tokens: await listAccessTokens(db, userId) });
  };
}

/** Makes an access token and shows it, this once. One made with a token ends no later than that one: who finds it gains no time. */
export function createTokenRoute({ db }: { db: Db }): RequestHandler {
  return async (request, response) => {
    const { userId, tokenExpiresAt } = await authorizeUser(db, request);
    const { name, days } = await readBody(request, NewToken);
    const token = createAccessToken();
    const made = await insertAccessToken(db, {
      userId,
      name,
      days,
      tokenHash: hashToken(token),
      expiresBy: tokenExpiresAt,
    });
    if (made.kind === "too_many")
      throw new ApiError("conflict", "You have 100 access tokens, the most there may be. Revoke some first.");
    sendAnswer(response, MadeToken, { ...made.token, token }, 201);
  };
}

/** Ends one of the caller's access tokens at once. */
export function createTokenRevocationRoute({ db }: { db: Db }): RequestHandler {
  return async (request, response) => {
    const { userId } = await authorizeUser(db, request);
    const tokenId = String(request.params["tokenId"]);
    if (!(await revokeAccessToken(db, { userId, tokenId })))
      throw new ApiError("not_found", "You have no such access token, or it has ended already. List your tokens.");
    sendAnswer(response, RevokedToken, { tokenId, revoked: true });
  };
}
