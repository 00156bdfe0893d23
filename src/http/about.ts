import type { RequestHandler } from "express";
import { Installation } from "../../domain/api/service.ts";
import { findVersion } from "../version.ts";
import { authorizeAccount } from "./auth/authorize.ts";
import { sendAnswer } from "./body.ts";
import type { AppDeps } from "./deps.ts";

/**
 * `GET /service`: what a program needs to know to call this service. `file` is good on the service's own machine, the
 * text everywhere. The certificate is public: each connection shows it.
 */
export function createServiceRoute({
  db,
  apiUrl,
  ownCertificate,
}: Pick<AppDeps, "db" | "apiUrl" | "ownCertificate">): RequestHandler {
  const version = findVersion();
  return async (request, response) => {
    await authorizeAccount(db, request, "read");
    sendAnswer(response, Installation, { apiUrl: apiUrl(), version, ca: ownCertificate ?? null });
  };
}
