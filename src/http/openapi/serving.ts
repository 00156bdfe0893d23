import { createHash } from "node:crypto";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { Request, RequestHandler, Response } from "express";
import { matchesTag } from "../answers/byte-range.ts";
import { authorizeWorkflow } from "../auth/authenticate.ts";
import type { AppDeps } from "../deps.ts";
import { describeService, type OpenApiDocument } from "./document.ts";
import { describeWorkflow } from "./workflow-document.ts";

const compress = promisify(gzip);

/** `GET /api/openapi.json`, for everybody. */
export function createServiceDocumentRoute(deps: Pick<AppDeps, "apiUrl">): RequestHandler {
  return (request, response) =>
    sendDocument(request, response, { document: describeService(rootOf(deps)), caching: "no-cache" });
}

/** `GET /api/workflows/:workflowId/openapi.json`, for who may call the workflow or is signed in to its account. */
export function createWorkflowDocumentRoute(deps: Pick<AppDeps, "apiUrl" | "db" | "keyUses">): RequestHandler {
  return async (request, response) => {
    const workflow = await authorizeWorkflow(deps, request);
    const document = describeWorkflow(workflow, rootOf(deps));
    await sendDocument(request, response, { document, caching: "private, no-cache" });
  };
}

/** What `/api` and `/healthz` are below. */
function rootOf({ apiUrl }: Pick<AppDeps, "apiUrl">): string {
  return apiUrl().replace(/\/api$/, "");
}

/** Sends it compressed to who takes that: it is text of hundreds of kilobytes. Each form has a tag of its own. */
async function sendDocument(
  request: Request,
  response: Response,
  { document, caching }: { document: OpenApiDocument; caching: string },
): Promise<void> {
  const text = JSON.stringify(document);
  const hash = createHash("sha256").update(text).digest("hex");
  const zips = request.acceptsEncodings("gzip") !== false;
  const tag = zips ? `"${hash}-gzip"` : `"${hash}"`;
  response.set({ ETag: tag, "Cache-Control": caching, Vary: "Accept-Encoding" });
  if (matchesTag(request.get("if-none-match"), tag)) return void response.status(304).end();
  response.set("Content-Type", "application/json; charset=utf-8");
  if (zips) response.set("Content-Encoding", "gzip").send(await compress(text));
  else response.send(text);
}
