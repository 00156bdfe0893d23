import { NewUpload, RemovedUpload, SentPart, Upload } from "../../../domain/api/uploads.ts";
import { answerOf, bodyOf, describeId } from "./content.ts";
import { aPathId, WORKFLOW_ID } from "./parameters.ts";
import type { Credential, Routes } from "./route.ts";
import { LINK_QUERY } from "./run-logs.ts";

const CALLERS: readonly Credential[] = ["apiKey", "session", "accessToken"];
const UPLOAD_ID = aPathId("uploadId", describeId("up"), "The upload, as beginning it has named it.");
const FILE = {
  fileName: "orders.csv",
  bytes: 20_000_000,
  sha256: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
};
const BEGUN = {
  uploadId: "up_0123456789abcdef",
  ...FILE,
  complete: false,
  expiresAt: "2026-11-03T09:00:00.000Z",
  partBytes: 16_777_216,
  missing: [
    {
      number: 2,
      bytes: 3_222_784,
      url: "https://localhost:8443/api/workflows/wf_0123456789abcdef/uploads/up_0123456789abcdef/parts/2?expires=1793702400&signature=…",
    },
  ],
  missingParts: 1,
  linksExpireAt: "2026-11-02T10:00:00.000Z",
};
const WHOLE = { ...BEGUN, complete: true, missing: [], missingParts: 0, linksExpireAt: null };

/** Files that callers bring before the call that takes them. */
export const UPLOAD_ROUTES = {
  beginUpload: {
    method: "post",
    path: "/api/workflows/{workflowId}/uploads",
    tag: "Workflows",
    summary: "Begin to upload a file for an input, in parts",
    description:
      'Send each part by PUT to its address, in any order, then complete the upload. Execute takes `{"upload": "up_…"}` for the input until the upload expires, a day later.',
    credentials: CALLERS,
    parameters: [WORKFLOW_ID],
    body: bodyOf(NewUpload, { input: "orders", contentType: "text/csv", ...FILE }),
    answers: { 201: answerOf("It has begun.", Upload, BEGUN) },
    errors: [
      ...(["unauthorized", "api_trigger_disabled", "workflow_not_found", "conflict", "payload_too_large"] as const),
      ...(["unsupported_media_type", "rate_limited", "storage_full", "no_capacity"] as const),
    ],
  },
  showUpload: {
    method: "get",
    path: "/api/workflows/{workflowId}/uploads/{uploadId}",
    tag: "Workflows",
    summary: "An upload, and where to send the parts that are missing",
    credentials: CALLERS,
    parameters: [WORKFLOW_ID, UPLOAD_ID],
    answers: { 200: answerOf("How far it is.", Upload, BEGUN) },
    errors: ["unauthorized", "api_trigger_disabled", "workflow_not_found", "not_found", "no_capacity"],
  },
  sendUploadPart: {
    method: "put",
    path: "/api/workflows/{workflowId}/uploads/{uploadId}/parts/{number}",
    tag: "Workflows",
    summary: "Send a part of an upload, by its link",
    description: "The address is one of `missing`. With storage in S3, addresses may be those of the store itself.",
    credentials: ["link"],
    parameters: [
      WORKFLOW_ID,
      UPLOAD_ID,
      aPathId("number", { type: "string", pattern: "^[1-9][0-9]{0,4}$" }, "Which part, from 1."),
      ...LINK_QUERY,
    ],
    body: {
      required: true,
      content: { "application/octet-stream": { schema: { type: "string", format: "binary" } } },
    },
    answers: { 200: answerOf("It is there.", SentPart, { number: 2, bytes: 3_222_784 }) },
    errors: ["unauthorized", "not_found", "conflict", "no_capacity"],
  },
  completeUpload: {
    method: "post",
    path: "/api/workflows/{workflowId}/uploads/{uploadId}/complete",
    tag: "Workflows",
    summary: "Complete an upload whose parts are all there",
    description:
      "The content is compared with its size and SHA-256. An upload of another content is removed. May be repeated.",
    credentials: CALLERS,
    parameters: [WORKFLOW_ID, UPLOAD_ID],
    answers: { 200: answerOf("Executions may have it.", Upload, WHOLE) },
    errors: [
      ...(["unauthorized", "api_trigger_disabled", "workflow_not_found", "not_found", "conflict"] as const),
      ...(["rate_limited", "no_capacity"] as const),
    ],
  },
  removeUpload: {
    method: "delete",
    path: "/api/workflows/{workflowId}/uploads/{uploadId}",
    tag: "Workflows",
    summary: "Remove an upload",
    description: "What executions have of it stays.",
    credentials: CALLERS,
    parameters: [WORKFLOW_ID, UPLOAD_ID],
    answers: { 200: answerOf("It is gone.", RemovedUpload, { uploadId: BEGUN.uploadId, removed: true }) },
    errors: ["unauthorized", "api_trigger_disabled", "workflow_not_found", "not_found", "no_capacity"],
  },
} satisfies Routes;
