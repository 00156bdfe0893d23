import type { Request, Response } from "express";
import type { OpenAccess } from "../../keys/open-access.ts";

/** Calls `end` when the caller of an answer loses access while it is still being written. */
export async function endWithAccess(
  openAccess: OpenAccess,
  { accessId, response, end }: { accessId: string | undefined; response: Response; end: () => void },
): Promise<void> {
  if (accessId === undefined) return;
  const leave = await openAccess.follow(accessId, end);
  if (response.destroyed || response.writableFinished) leave();
  else response.once("close", leave);
}

/** Returns whether a caller asks for events before JSON. */
export function wantsEvents(request: Request): boolean {
  return request.accepts("application/json", "text/event-stream") === "text/event-stream";
}
