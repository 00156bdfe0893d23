import type { RequestHandler } from "express";
import { findVersion } from "../../version.ts";
import type { AppDeps } from "../deps.ts";
import { authorizeEditor } from "./authorize.ts";

/**
 * `GET /editor/service`: what a program needs to know to call this service. `file` is good on the service's own machine, the
 * text everywhere. The certificate is public: whoever connects is shown it.
 */
export function createServiceRoute({
  db,
  apiUrl,
  ownCertificate,
}: Pick<AppDeps, "db" | "apiUrl" | "ownCertificate">): RequestHandler {
  const version = findVersion();
  return async (request, response) => {
    await authorizeEditor(db, request, "read");
    response.json({ apiUrl: apiUrl(), version, ca: ownCertificate ?? null });
  };
}
