import { createHash } from "node:crypto";
import type { Request, RequestHandler, Response } from "express";
import { authorizeWorkflow } from "../authenticate.ts";
import { matchesTag } from "../byte-range.ts";
import type { AppDeps } from "../deps.ts";
import { describeService, type OpenApiDocument } from "./document.ts";
import { describeWorkflow } from "./workflow-document.ts";

/** `GET /api/openapi.json`, for everybody. */
export function createServiceDocumentRoute(deps: Pick<AppDeps, "apiUrl">): RequestHandler {
  return (request, response) => {
    sendDocument(request, response, { document: describeService(rootOf(deps)), caching: "no-cache" });
  };
}

/** `GET /api/workflows/:workflowId/openapi.json`, for who may call the workflow or is signed in to its account. */
export function createWorkflowDocumentRoute(deps: Pick<AppDeps, "apiUrl" | "db">): RequestHandler {
  return async (request, response) => {
    const workflow = await authorizeWorkflow(deps.db, request);
    const document = describeWorkflow(workflow, rootOf(deps));
    sendDocument(request, response, { document, caching: "private, no-cache" });
  };
}

/** What `/api` and `/healthz` are below. */
function rootOf({ apiUrl }: Pick<AppDeps, "apiUrl">): string {
  return apiUrl().replace(/\/api$/, "");
}

function sendDocument(
  request: Request,
  response: Response,
  { document, caching }: { document: OpenApiDocument; caching: string },
): void {
  const text = JSON.stringify(document);
  const tag = `"${createHash("sha256").update(text).digest("hex")}"`;
  response.set({ ETag: tag, "Cache-Control": caching });
  if (matchesTag(request.get("if-none-match"), tag)) response.status(304).end();
  else response.set("Content-Type", "application/json; charset=utf-8").send(text);
}
