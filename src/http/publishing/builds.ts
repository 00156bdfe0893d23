import { setTimeout as sleep } from "node:timers/promises";
import type { Request, RequestHandler, Response } from "express";
import { BUILD_SILENCE_SECONDS, type Build, findBuild, listBuildLog } from "../../../db/commits/builds.ts";
import type { Db } from "../../../db/connect.ts";
import { Build as BuildDocument } from "../../../domain/api/commits.ts";
import { ERROR_TEXT } from "../../../domain/errors.ts";
import { sendAnswer } from "../answers/body.ts";
import { endWithAccess } from "../answers/open-answer.ts";
import { authorizeAccount } from "../auth/authorize.ts";
import type { AppDeps } from "../deps.ts";
import { ApiError } from "../errors.ts";

/** How often the record is looked at for who follows a build: some other process may be making it. */
const LOOK_MS = 300;
/** Proxies close a connection on which nothing comes. */
const SIGN_OF_LIFE_MS = 15_000;
const LAST_EVENT_ID = /^\d{1,9}$/;

/** `GET /builds/:buildId`: how far a commit is that is being made; as events until its end, for who accepts those. */
export function createBuildRoute({ db, openAccess }: Pick<AppDeps, "db" | "openAccess">): RequestHandler {
  return async (request, response) => {
    const { build, accessId } = await authorizeBuild(db, request);
    if (request.accepts("application/json", "text/event-stream") === "text/event-stream")
      return sendBuildEvents({ db, openAccess }, build.id, { request, response, accessId });
    const log = await listBuildLog(db, build.id, 0);
    const failure = failureOf(build);
    sendAnswer(response, BuildDocument, {
      buildId: build.id,
      workflowId: build.workflowId,
      state: failure !== null ? "failed" : build.endedAt === null ? "building" : "committed",
      log: log.map(({ text }) => text).join(""),
      createdAt: build.createdAt,
      endedAt: build.endedAt,
      commitId: build.commitId,
      error: failure?.error ?? null,
      message: failure?.message ?? null,
      details: failure?.details ?? [],
    });
  };
}

async function authorizeBuild(db: Db, request: Request): Promise<{ build: Build; accessId: string }> {
  const { userId, accountId, accessId } = await authorizeAccount(db, request, "read");
  const build = await findBuild(db, String(request.params.buildId));
  if (build === undefined || (userId !== null && build.accountId !== accountId))
    throw new ApiError("not_found", "There is no such build. Those that ended are kept for a week.");
  return { build, accessId };
}

/** Why there is no commit; null while there may be one, or is. */
function failureOf({ failure, lost }: Build): Build["failure"] {
  if (!lost) return failure;
  const message = `The service stopped while it was making this commit (nothing was heard for ${BUILD_SILENCE_SECONDS} seconds). Nothing was committed, the draft is kept; commit again.`;
  return { error: ERROR_TEXT.internal, message, details: [] };
}

/** `log` with what is said, numbered, what there is and then what comes; at the end `result`, unless the caller is let in no more. */
async function sendBuildEvents(
  { db, openAccess }: Pick<AppDeps, "db" | "openAccess">,
  id: string,
  { request, response, accessId }: { request: Request; response: Response; accessId: string },
): Promise<void> {
  const gone = new AbortController();
  response.once("close", () => gone.abort());
  await endWithAccess(openAccess, { accessId, response, end: () => gone.abort() });
  response.set({ "Content-Type": "text/event-stream; charset=utf-8", "X-Accel-Buffering": "no" });
  response.flushHeaders();
  const lastId = request.get("last-event-id") ?? "";
  for await (const event of followBuild(db, id, LAST_EVENT_ID.test(lastId) ? Number(lastId) : 0, gone.signal))
    response.write(event);
  response.end();
}

async function* followBuild(db: Db, id: string, after: number, gone: AbortSignal): AsyncGenerator<string, void> {
  let position = after;
  let sentAt = Date.now();
  while (!gone.aborted) {
    // Its end is looked at first: what it said before that is on record by then.
    const build = await findBuild(db, id);
    for (const { text, ...line } of await listBuildLog(db, id, position)) {
      position = line.position;
      sentAt = Date.now();
      yield `id: ${position}\nevent: log\ndata: ${JSON.stringify({ text })}\n\n`;
    }
    if (build === undefined) return;
    const failure = failureOf(build);
    if (failure !== null || build.endedAt !== null) {
      yield `event: result\ndata: ${JSON.stringify(failure ?? { commitId: build.commitId, changed: build.changed })}\n\n`;
      return;
    }
    if (Date.now() - sentAt >= SIGN_OF_LIFE_MS) {
      sentAt = Date.now();
      yield ": still building\n\n";
    }
    await sleep(LOOK_MS, undefined, { signal: gone }).catch(() => undefined);
  }
}
