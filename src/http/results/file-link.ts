import type { Request, RequestHandler } from "express";
import type { z } from "zod";
import { Link, LinkRequest } from "../../../domain/api/results.ts";
import { fileUrl } from "../../executions/envelope.ts";
import { sendAnswer } from "../answers/body.ts";
import { authorizeExecution } from "../auth/authenticate.ts";
import type { AppDeps } from "../deps.ts";
import { ApiError } from "../errors.ts";
import { readJsonObject } from "../server/json-body.ts";
import { requireOutputFile } from "./files.ts";
import { signLink } from "./link-signature.ts";

const BODY_BYTES_MAX = 1_000;

/** `POST /run-logs/:executionId/files/:fileName/link`: an address of the file that needs no key, for a time. */
export function createLinkRoute(deps: Pick<AppDeps, "db" | "keyUses" | "secretBox" | "apiUrl">): RequestHandler {
  return async (request, response) => {
    const { execution } = await authorizeExecution(deps, request, "write");
    const { fileName } = await requireOutputFile(deps.db, execution.id, request.params.fileName);
    const { expiresInSeconds } = await readLinkRequest(request);
    const expires = Math.floor(Date.now() / 1000) + expiresInSeconds;
    const signature = signLink(deps.secretBox, { executionId: execution.id, fileName, expires });
    sendAnswer(response, Link, {
      url: `${fileUrl(deps.apiUrl(), execution.id, fileName)}?${signature}`,
      expiresAt: new Date(expires * 1000),
    });
  };
}

async function readLinkRequest(request: Request): Promise<z.infer<typeof LinkRequest>> {
  const hasBody = Number(request.get("content-length") ?? 0) > 0 || request.get("transfer-encoding") !== undefined;
  if (hasBody && request.is("application/json") === false)
    throw new ApiError("unsupported_media_type", "Send JSON, application/json, or no body at all.");
  const parsed = LinkRequest.safeParse(hasBody ? await readJsonObject(request, BODY_BYTES_MAX) : {});
  if (parsed.success) return parsed.data;
  const details = parsed.error.issues.map((issue) => ({ input: issue.path.join("."), message: `${issue.message}.` }));
  throw new ApiError("invalid_request", details.map(({ input, message }) => `${input} ${message}`.trim()).join(" "), {
    details,
  });
}
