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
import { MADE_TOKEN_EXAMPLE } from "./access.ts";
import { answerOf, bodyOf } from "./content.ts";
import type { Routes } from "./route.ts";

const DEVICE_CODE = "trc_0000000000000000000000000000000000000000000";
const USER_CODE = "BCDF-GHJK";
const CREATED_AT = "2026-11-01T09:00:00.000Z";
const EXPIRES_AT = "2026-11-01T09:10:00.000Z";
const BODY_ERRORS = ["payload_too_large", "unsupported_media_type", "rate_limited", "no_capacity"] as const;

/** How a command line gets an access token: a person allows it in a browser, as RFC 8628 describes. */
export const DEVICE_CODE_ROUTES = {
  createDeviceCode: {
    method: "post",
    path: "/api/device-codes",
    tag: "Access",
    summary: "Begin the sign-in of a command line",
    description: "Show `url` and `userCode` to the person, and keep `deviceCode`. Both codes are good for 10 minutes.",
    credentials: [],
    body: bodyOf(NewDeviceCode, { name: "laptop" }),
    answers: {
      201: answerOf("The codes.", DeviceCode, {
        deviceCode: DEVICE_CODE,
        userCode: USER_CODE,
        url: `https://treadle.example/device#${USER_CODE}`,
        expiresAt: EXPIRES_AT,
        intervalSeconds: 2,
      }),
    },
    errors: BODY_ERRORS,
  },
  lookAtDeviceCode: {
    method: "post",
    path: "/api/device-codes/look",
    tag: "Access",
    summary: "What a command line asks for",
    credentials: ["session"],
    body: bodyOf(LookAtDeviceCode, { userCode: USER_CODE }),
    answers: {
      200: answerOf("It waits for an answer.", DeviceToLetIn, {
        name: "laptop",
        address: "203.0.113.7",
        createdAt: CREATED_AT,
        expiresAt: EXPIRES_AT,
        tokenDays: 90,
      }),
    },
    errors: ["unauthorized", "forbidden", "not_found", ...BODY_ERRORS],
  },
  answerDeviceCode: {
    method: "post",
    path: "/api/device-codes/answer",
    tag: "Access",
    summary: "Allow or refuse a command line",
    description: "It gets an access token of yours, with the role that you have at the time.",
    credentials: ["session"],
    body: bodyOf(DeviceAnswer, { userCode: USER_CODE, allow: true }),
    answers: { 200: answerOf("Answered, once and for all.", AnsweredDevice, { name: "laptop", allowed: true }) },
    errors: ["unauthorized", "forbidden", "not_found", ...BODY_ERRORS],
  },
  fetchDeviceToken: {
    method: "post",
    path: "/api/device-codes/token",
    tag: "Access",
    summary: "Fetch the access token of a command line",
    description: "Ask again after `intervalSeconds` while it waits. The token is given once, and is good for 90 days.",
    credentials: [],
    body: bodyOf(FetchDeviceToken, { deviceCode: DEVICE_CODE }),
    answers: {
      201: answerOf("Allowed: the token, shown this once.", MadeToken, MADE_TOKEN_EXAMPLE),
      202: answerOf("Nobody has answered yet.", DeviceWaits, { status: "waiting", intervalSeconds: 2 }),
    },
    errors: ["forbidden", "not_found", "conflict", ...BODY_ERRORS],
  },
} satisfies Routes;
