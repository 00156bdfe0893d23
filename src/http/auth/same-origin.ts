import type { Request, RequestHandler } from "express";
import { ApiError } from "../errors.ts";
import { readBearerToken } from "./person.ts";
import { hasSessionCookie } from "./session-cookie.ts";

const SAFE_METHODS = ["GET", "HEAD", "OPTIONS"];
const OWN_SITES = ["same-origin", "none"];

/**
 * Keeps other websites from acting through a signed-in browser, or signing it in as another user. Browsers say where a
 * request comes from; a cookie without any such word is refused. Calls that carry a key or a token in a header are not
 * concerned: no browser adds those by itself. A password in that header is no token: browsers remember and add it.
 */
export const refuseForeignOrigin: RequestHandler = (request, _response, next) => {
  if (SAFE_METHODS.includes(request.method) || carriesCredentialHeader(request) || isFromOwnSite(request))
    return next();
  throw new ApiError(
    "forbidden",
    "This request comes from another website. Open Treadle itself and try again; programs send an API key instead of a cookie.",
  );
};

function carriesCredentialHeader(request: Request): boolean {
  return request.get("x-api-key") !== undefined || readBearerToken(request) !== undefined;
}

function isFromOwnSite(request: Request): boolean {
  const site = request.get("sec-fetch-site");
  if (site !== undefined) return OWN_SITES.includes(site);
  const origin = request.get("origin");
  if (origin === undefined) return !hasSessionCookie(request);
  return URL.canParse(origin) && new URL(origin).host === request.get("host");
}
