import type { Response } from "express";
import type { OpenAccess } from "../open-access.ts";

/**
 * Calls `end` when whoever an answer is for is not let in any more while it is still being written. `accessId` undefined: they
 * came with a workflow's key, which is good for what it began.
 */
export async function endWithAccess(
  openAccess: OpenAccess,
  { accessId, response, end }: { accessId: string | undefined; response: Response; end: () => void },
): Promise<void> {
  if (accessId === undefined) return;
  const leave = await openAccess.follow(accessId, end);
  if (response.destroyed || response.writableFinished) leave();
  else response.once("close", leave);
}
