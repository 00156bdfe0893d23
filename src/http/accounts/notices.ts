import type { RequestHandler } from "express";
import { z } from "zod";
import { findNotice, insertTestNotice, listNotices, type Notice, sendAgain } from "../../../db/notices/notices.ts";
import { NOTICES_PAGE_MAX } from "../../../domain/api/limits.ts";
import { NoticeList, PlaceName, SentNotice } from "../../../domain/api/notices.ts";
import type { AccountId } from "../../../domain/ids.ts";
import { parseRequest, sendAnswer } from "../answers/body.ts";
import { authorizeAccount } from "../auth/authorize.ts";
import type { AppDeps } from "../deps.ts";
import { ApiError } from "../errors.ts";
import { requirePlace } from "./places.ts";

type Deps = Pick<AppDeps, "db" | "notices">;

const Page = z.object({
  place: PlaceName.nullable().default(null),
  before: SentNotice.shape.noticeId.nullable().default(null),
  limit: z.coerce.number().int().min(1).max(NOTICES_PAGE_MAX).default(50),
});

/** `POST /api/places/{name}/test`: one try to send, whose outcome is the answer. */
export function createPlaceTestRoute({ db, notices }: Deps): RequestHandler {
  return async (request, response) => {
    const { accountId } = await authorizeAccount(db, request, "write");
    const place = await requirePlace(db, accountId, parseRequest(PlaceName, request.params["name"]));
    const id = await insertTestNotice(db, place);
    await notices.send(id);
    await notices.giveUp(id);
    sendAnswer(response, SentNotice, toShown(await requireNotice(db, accountId, id)));
  };
}

/** `GET /api/notices`: what was sent, the newest first. */
export function createNoticesRoute({ db }: Deps): RequestHandler {
  return async (request, response) => {
    const { accountId } = await authorizeAccount(db, request, "read");
    const page = parseRequest(Page, request.query);
    const found = await listNotices(db, Object.assign({ accountId }, page));
    const next = found.length === page.limit ? (found.at(-1)?.id ?? null) : null;
    sendAnswer(response, NoticeList, { notices: found.map(toShown), next });
  };
}

/** `POST /api/notices/{noticeId}/send`: the same notice once more. */
export function createNoticeAgainRoute({ db }: Deps): RequestHandler {
  return async (request, response) => {
    const { accountId } = await authorizeAccount(db, request, "write");
    const id = String(request.params["noticeId"]);
    if (!(await sendAgain(db, accountId, id))) throw noSuchNotice(id);
    sendAnswer(response, SentNotice, toShown(await requireNotice(db, accountId, id)), 202);
  };
}

async function requireNotice(db: Deps["db"], accountId: AccountId, id: string): Promise<Notice> {
  const notice = await findNotice(db, accountId, id);
  if (notice === undefined) throw noSuchNotice(id);
  return notice;
}

function toShown(notice: Notice) {
  const { id, place, kind, workflowId, executionId, state, createdAt, dueAt, more } = notice;
  const { attempts, lastAttemptAt, answer } = notice;
  const about = { noticeId: id, place, kind, workflowId, executionId };
  return Object.assign(about, { state, createdAt, dueAt, more, attempts, lastAttemptAt, answer });
}

function noSuchNotice(id: string): ApiError {
  return new ApiError("not_found", `There is no notice ${id}. "notify sent" lists those there are.`);
}
