import { NOTICES_PAGE_MAX } from "../../../domain/api/limits.ts";
import {
  AddedPlace,
  ChangedPlace,
  NewPlace,
  NoticeList,
  PlaceChange,
  PlaceList,
  RemovedPlace,
  RotatedSecret,
  SecretRotation,
  SentNotice,
} from "../../../domain/api/notices.ts";
import { answerOf, bodyOf, describeId, IN_PERSON } from "./content.ts";
import { ACCOUNT, aPathId } from "./parameters.ts";
import type { Routes } from "./route.ts";

const NAME = aPathId(
  "name",
  { type: "string", pattern: "^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$", maxLength: 40 },
  "The name that manifests have for the place.",
);
const EXAMPLE = {
  name: "ops",
  kind: "webhook" as const,
  target: "https://hooks.example.com/…",
  createdBy: "ada@example.com",
  createdAt: "2026-11-02T09:00:00.000Z",
  previousSecretUntil: null,
  disabledAt: null,
  disabledReason: "",
};
const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=";
const NOTICE = {
  noticeId: "nt_0123456789abcdef",
  place: "ops",
  kind: "failure" as const,
  workflowId: "wf_0123456789abcdef",
  executionId: "ex_0123456789abcdef",
  state: "delivered" as const,
  createdAt: "2026-11-02T02:00:12.000Z",
  dueAt: "2026-11-02T02:00:12.000Z",
  more: 0,
  attempts: 1,
  lastAttemptAt: "2026-11-02T02:00:13.000Z",
  answer: "204",
};
const BODY_ERRORS = ["payload_too_large", "unsupported_media_type", "no_capacity"] as const;

/** Places of an account that get notices of its runs, and what was sent there. */
export const NOTICE_ROUTES = {
  listPlaces: {
    method: "get",
    path: "/api/places",
    tag: "Account",
    summary: "The places that can be told of runs",
    credentials: IN_PERSON,
    parameters: [ACCOUNT],
    answers: {
      200: answerOf("By name.", PlaceList, {
        places: [{ ...EXAMPLE, usedBy: [{ workflowId: "wf_0123456789abcdef", name: "Load the warehouse" }] }],
      }),
    },
    errors: ["unauthorized", "not_found", "no_capacity"],
  },
  addPlace: {
    method: "post",
    path: "/api/places",
    tag: "Account",
    summary: "Add a place to tell",
    description: "`notify` of config.yaml names it. For owners.",
    credentials: IN_PERSON,
    parameters: [ACCOUNT],
    body: bodyOf(NewPlace, { name: "ops", kind: "webhook", target: "https://hooks.example.com/treadle" }),
    answers: { 201: answerOf("It is added.", AddedPlace, { ...EXAMPLE, secret: SECRET }) },
    errors: ["unauthorized", "not_found", "conflict", ...BODY_ERRORS],
  },
  changePlace: {
    method: "put",
    path: "/api/places/{name}",
    tag: "Account",
    summary: "Give a place another target",
    description: "A place that was disabled is used again. For owners.",
    credentials: IN_PERSON,
    parameters: [NAME, ACCOUNT],
    body: bodyOf(PlaceChange, { target: "https://hooks.example.com/another" }),
    answers: { 200: answerOf("It is changed.", ChangedPlace, EXAMPLE) },
    errors: ["unauthorized", "not_found", ...BODY_ERRORS],
  },
  removePlace: {
    method: "delete",
    path: "/api/places/{name}",
    tag: "Account",
    summary: "Remove a place",
    description: "Refused while the latest commit of a workflow names it. For owners.",
    credentials: IN_PERSON,
    parameters: [NAME, ACCOUNT],
    answers: { 200: answerOf("It is gone.", RemovedPlace, { name: "ops", removed: true }) },
    errors: ["unauthorized", "not_found", "conflict", "no_capacity"],
  },
  rotatePlaceSecret: {
    method: "post",
    path: "/api/places/{name}/secrets",
    tag: "Account",
    summary: "Replace the secret that a webhook is signed with",
    description: "During the grace, messages have a signature of each secret. For owners.",
    credentials: IN_PERSON,
    parameters: [NAME, ACCOUNT],
    body: bodyOf(SecretRotation, { graceSeconds: 86_400 }),
    answers: {
      201: answerOf("The new secret.", RotatedSecret, {
        name: "ops",
        secret: SECRET,
        previousSecretUntil: "2026-11-03T09:00:00.000Z",
      }),
    },
    errors: ["unauthorized", "not_found", "conflict", ...BODY_ERRORS],
  },
  testPlace: {
    method: "post",
    path: "/api/places/{name}/test",
    tag: "Account",
    summary: "Send a test to a place",
    description: "It is tried once, and the answer says what came of it. For owners and members.",
    credentials: IN_PERSON,
    parameters: [NAME, ACCOUNT],
    answers: {
      200: answerOf("What came of it.", SentNotice, { ...NOTICE, kind: "test", workflowId: null, executionId: null }),
    },
    errors: ["unauthorized", "not_found", "no_capacity"],
  },
  listNotices: {
    method: "get",
    path: "/api/notices",
    tag: "Account",
    summary: "What was sent to places",
    description: "The newest first, each with the last answer of its receiver.",
    credentials: IN_PERSON,
    parameters: [
      {
        name: "place",
        in: "query",
        description: "Those to this place alone.",
        schema: { type: "string", minLength: 1, maxLength: 40 },
      },
      {
        name: "before",
        in: "query",
        description: "Those after the notice of this id: `next` of the page before.",
        schema: describeId("nt"),
      },
      {
        name: "limit",
        in: "query",
        description: "How many at most; 50 unless given.",
        schema: { type: "integer", minimum: 1, maximum: NOTICES_PAGE_MAX },
      },
      ACCOUNT,
    ],
    answers: { 200: answerOf("A page of them.", NoticeList, { notices: [NOTICE], next: null }) },
    errors: ["unauthorized", "invalid_request", "not_found", "no_capacity"],
  },
  sendNoticeAgain: {
    method: "post",
    path: "/api/notices/{noticeId}/send",
    tag: "Account",
    summary: "Send a notice again",
    description: "With the same id, and what is on record now. For owners and members.",
    credentials: IN_PERSON,
    parameters: [aPathId("noticeId", describeId("nt"), "The notice, as the list has it."), ACCOUNT],
    answers: { 202: answerOf("It is on its way.", SentNotice, { ...NOTICE, state: "waiting" }) },
    errors: ["unauthorized", "not_found", "no_capacity"],
  },
} satisfies Routes;
