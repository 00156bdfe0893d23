import type { Request, RequestHandler } from "express";
import {
  answerDevice,
  type DeviceState,
  findWaitingDevice,
  insertDeviceCode,
  takeDeviceAnswer,
} from "../../../db/accounts/device-codes.ts";
import { takeFromBuckets } from "../../../db/accounts/rates.ts";
import type { Db } from "../../../db/connect.ts";
import {
  AnsweredDevice,
  DeviceAnswer,
  DeviceCode,
  DeviceToLetIn,
  DeviceWaits,
  FetchDeviceToken,
  LookAtDeviceCode,
  NewDeviceCode,
} from "../../../domain/api/device-codes.ts";
import { MadeToken } from "../../../domain/api/people.ts";
import type { SecretBox } from "../../keys/secret-box.ts";
import { createAccessToken, createDeviceCode, createUserCode, hashToken, toUserCode } from "../../keys/tokens.ts";
import { readBody, sendAnswer } from "../answers/body.ts";
import { authorizeUser } from "../auth/authorize.ts";
import { beginAttempt, type SignInThrottle } from "../auth/sign-in-throttle.ts";
import type { AppDeps } from "../deps.ts";
import { ApiError } from "../errors.ts";
import { networkOf } from "../server/network-of.ts";

/** Time enough to sign in first. */
const LIFETIME_SECONDS = 600;
const INTERVAL_SECONDS = 2;
/** A request that set out in time may arrive a little early. */
const TOLERANCE_SECONDS = 0.5;
const TOKEN_DAYS = 90;
/** From one network: 20 at once, then 2 a minute. So it has 40 open at most. */
const PER_NETWORK = { perMinute: 2, burst: 20 };
const BY_TOKEN = "`treadle login --token` takes an access token instead.";

type Deps = Pick<AppDeps, "db" | "apiUrl" | "secretBox" | "log">;

/** Gives a command line two codes: one that it keeps, and one for the person who will allow it. For everybody, so it is counted. */
export function createDeviceCodeRoute({ db, apiUrl, secretBox }: Deps): RequestHandler {
  return async (request, response) => {
    const { name } = await readBody(request, NewDeviceCode);
    const address = request.ip ?? "";
    await countForNetwork(db, address);
    const [deviceCode, userCode] = [createDeviceCode(), createUserCode()];
    const expiresAt = await insertDeviceCode(db, {
      deviceHash: hashToken(deviceCode),
      userHash: hashUserCode(secretBox, userCode),
      name,
      address,
      lifetimeSeconds: LIFETIME_SECONDS,
    });
    if (expiresAt === undefined)
      throw new ApiError(
        "no_capacity",
        `Too many command lines are signing in at the moment. Try again in a minute. ${BY_TOKEN}`,
        {},
        { "Retry-After": "60" },
      );
    // Behind the #: browsers send it to nobody, so no log has it.
    const url = `${apiUrl().replace(/\/api$/, "")}/device#${userCode}`;
    sendAnswer(response, DeviceCode, { deviceCode, userCode, url, expiresAt, intervalSeconds: INTERVAL_SECONDS }, 201);
  };
}

/** What a person is asked to let in, before they answer. */
export function createDeviceLookRoute({ db, secretBox }: Deps, throttle: SignInThrottle): RequestHandler {
  return async (request, response) => {
    const { sessionId } = await authorizeSession(db, request);
    const { userCode } = await readBody(request, LookAtDeviceCode);
    const attempt = await beginAttempt(throttle, request, "device code", `session ${sessionId}`);
    const device = await findWaitingDevice(db, hashUserCode(secretBox, userCode));
    if (device === undefined) throw unknownUserCode();
    await attempt.succeed();
    sendAnswer(response, DeviceToLetIn, { ...device, tokenDays: TOKEN_DAYS });
  };
}

/** Allows or refuses a command line, once. The access token is made when the command line fetches it, so nothing keeps it until then. */
export function createDeviceAnswerRoute({ db, secretBox, log }: Deps, throttle: SignInThrottle): RequestHandler {
  return async (request, response) => {
    const { userId, sessionId } = await authorizeSession(db, request);
    const { userCode, allow } = await readBody(request, DeviceAnswer);
    const attempt = await beginAttempt(throttle, request, "device code", `session ${sessionId}`);
    const userHash = hashUserCode(secretBox, userCode);
    const answered = await answerDevice(db, { userHash, userId: allow ? userId : null });
    if (answered === undefined) throw unknownUserCode();
    await attempt.succeed();
    const event = allow ? "login.allowed" : "login.refused";
    log.info({ event, userId }, allow ? "A command line was allowed." : "A command line was refused.");
    sendAnswer(response, AnsweredDevice, { name: answered.name, allowed: allow });
  };
}

/** The access token of a command line, once, when a person has allowed it. Before that: 202. */
export function createDeviceTokenRoute({ db, log }: Deps): RequestHandler {
  return async (request, response) => {
    const { deviceCode } = await readBody(request, FetchDeviceToken);
    const token = createAccessToken();
    // Found by its hash: how long that takes says nothing of other codes.
    const state = await takeDeviceAnswer(db, {
      deviceHash: hashToken(deviceCode),
      tokenHash: hashToken(token),
      tokenDays: TOKEN_DAYS,
      intervalSeconds: INTERVAL_SECONDS - TOLERANCE_SECONDS,
    });
    if (state.kind === "waiting")
      return sendAnswer(response, DeviceWaits, { status: "waiting", intervalSeconds: INTERVAL_SECONDS }, 202);
    if (state.kind !== "allowed") throw refuseDevice(state.kind);
    const { tokenId } = state.token;
    log.info({ event: "token.created", tokenId, userId: state.userId }, "A command line has its access token.");
    sendAnswer(response, MadeToken, { ...state.token, token }, 201);
  };
}

/** A token must not make one that lasts longer, or that outlives it. */
async function authorizeSession(db: Db, request: Request): Promise<{ userId: string; sessionId: string }> {
  const { userId, sessionId } = await authorizeUser(db, request);
  if (sessionId !== null) return { userId, sessionId };
  throw new ApiError("forbidden", "An access token lets no command line in. Sign in with a browser.");
}

async function countForNetwork(db: Db, address: string): Promise<void> {
  const waitSeconds = await takeFromBuckets(db, [{ bucket: `device ${networkOf(address)}`, rate: PER_NETWORK }]);
  if (waitSeconds === 0) return;
  const message = `Too many command lines sign in from your network. Wait a little, then try again. ${BY_TOKEN}`;
  throw new ApiError("rate_limited", message, {}, { "Retry-After": String(Math.ceil(waitSeconds)) });
}

/** Of a short code a bare hash could be tried out: who has only a copy of the database lacks the key. */
function hashUserCode(box: Pick<SecretBox, "sign">, typed: string): Buffer {
  return hashToken(box.sign(`device code\n${toUserCode(typed)}`));
}

function unknownUserCode(): ApiError {
  return new ApiError(
    "not_found",
    "No command line waits with this code: it was answered, is older than 10 minutes, or is mistyped. Run treadle login again.",
  );
}

function refuseDevice(kind: Exclude<DeviceState["kind"], "allowed" | "waiting">): ApiError {
  switch (kind) {
    case "unknown":
      return new ApiError(
        "not_found",
        "This code is not good: it was used, or is older than 10 minutes. Ask for a new one.",
      );
    case "early":
      return new ApiError(
        "rate_limited",
        `Wait ${INTERVAL_SECONDS} seconds between two requests.`,
        {},
        { "Retry-After": String(INTERVAL_SECONDS) },
      );
    case "refused":
      return new ApiError("forbidden", "The sign-in was refused in the browser.");
    case "too_many":
      return new ApiError("conflict", "You have 100 access tokens, the most there may be. Revoke some first.");
  }
}
