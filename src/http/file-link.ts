import type { Request, RequestHandler } from "express";
import { z } from "zod";
import { authorizeExecution } from "./authenticate.ts";
import type { AppDeps } from "./deps.ts";
import { fileUrl } from "./envelope.ts";
import { ApiError } from "./errors.ts";
import { demandOutputFile } from "./files.ts";
import { readJsonObject } from "./json-body.ts";
import { signLink } from "./link-signature.ts";

const BODY_BYTES_MAX = 1_000;
const SECONDS_DEFAULT = 3_600;
const SECONDS_MAX = 7 * 86_400;

/** What a caller may say of the link; all of it may be left out. */
export const LinkWish = z.strictObject({
  expiresInSeconds: z
    .int({ error: "must be a whole number of seconds" })
    .min(1, { error: "must be at least 1" })
    .max(SECONDS_MAX, { error: `must be at most ${SECONDS_MAX}` })
    .default(SECONDS_DEFAULT),
});

/** `POST /run-logs/:executionId/files/:fileName/link`: an address of the file that needs no key, for a time. */
export function createLinkRoute(deps: Pick<AppDeps, "db" | "secretBox" | "apiUrl">): RequestHandler {
  return async (request, response) => {
    const { execution } = await authorizeExecution(deps.db, request, "write");
    const { fileName } = await demandOutputFile(deps.db, execution.id, request.params.fileName);
    const { expiresInSeconds } = await readWish(request);
    const expires = Math.floor(Date.now() / 1000) + expiresInSeconds;
    const signature = signLink(deps.secretBox, { executionId: execution.id, fileName, expires });
    response.json({
      url: `${fileUrl(deps.apiUrl(), execution.id, fileName)}?${signature}`,
      expiresAt: new Date(expires * 1000).toISOString(),
    });
  };
}

async function readWish(request: Request): Promise<z.infer<typeof LinkWish>> {
  const hasBody = Number(request.get("content-length") ?? 0) > 0 || request.get("transfer-encoding") !== undefined;
  if (hasBody && request.is("application/json") === false)
    throw new ApiError("unsupported_media_type", "Send JSON, application/json, or no body at all.");
  const parsed = LinkWish.safeParse(hasBody ? await readJsonObject(request, BODY_BYTES_MAX) : {});
  if (parsed.success) return parsed.data;
  const details = parsed.error.issues.map((issue) => ({ input: issue.path.join("."), message: `${issue.message}.` }));
  throw new ApiError("invalid_request", details.map(({ input, message }) => `${input} ${message}`.trim()).join(" "), {
    details,
  });
}
