import { Alive, Readiness } from "../../../domain/api/service.ts";
import { DOCS_ASSETS } from "../docs/assets.ts";
import { ANY_OBJECT, answerOf } from "./content.ts";
import { IF_NONE_MATCH } from "./parameters.ts";
import type { Routes } from "./route.ts";

const TEXT = { type: "string" };

/** For those who watch over the service, and for those who want to know what it can do. */
export const SERVICE_ROUTES = {
  showAlive: {
    method: "get",
    path: "/healthz",
    tag: "Service",
    summary: "Whether the process answers",
    credentials: [],
    answers: {
      200: answerOf("It does.", Alive, { alive: true }),
    },
    errors: [],
  },
  showReadiness: {
    method: "get",
    path: "/readyz",
    tag: "Service",
    summary: "Whether everything that executions need is there",
    credentials: [],
    answers: {
      200: answerOf("Ready.", Readiness),
      503: answerOf("Not ready; the checks that failed say why.", Readiness, {
        ready: false,
        checks: { storage: { ok: false, message: "The disk is full. Free some space." } },
      }),
    },
    errors: [],
  },
  readMetrics: {
    method: "get",
    path: "/metrics",
    tag: "Service",
    summary: "Figures for Prometheus",
    credentials: [],
    answers: { 200: { description: "Prometheus' text format.", content: { "text/plain": { schema: TEXT } } } },
    errors: [],
  },
  describeService: {
    method: "get",
    path: "/api/openapi.json",
    tag: "Service",
    summary: "This document",
    credentials: [],
    parameters: [IF_NONE_MATCH],
    answers: {
      200: {
        description: "OpenAPI 3.1.",
        always: ["ETag"],
        content: { "application/json": { schema: ANY_OBJECT } },
      },
      304: { description: "The caller has it already.", always: ["ETag"] },
    },
    errors: [],
  },
  showDocs: {
    method: "get",
    path: "/api/docs",
    tag: "Service",
    summary: "A page on which all of this can be read and tried",
    credentials: [],
    answers: { 200: { description: "The page.", content: { "text/html": { schema: TEXT } } } },
    errors: [],
  },
  readDocsAsset: {
    method: "get",
    path: "/api/docs/{asset}",
    tag: "Service",
    summary: "What that page is made of",
    credentials: [],
    parameters: [
      {
        name: "asset",
        in: "path",
        required: true,
        description: "A script, a style sheet, or the icon.",
        schema: { type: "string", enum: Object.keys(DOCS_ASSETS) },
      },
      IF_NONE_MATCH,
    ],
    answers: {
      200: {
        description: "Its content.",
        always: ["ETag"],
        content: {
          "text/javascript": { schema: TEXT },
          "text/css": { schema: TEXT },
          "image/png": { schema: { type: "string", format: "binary" } },
        },
      },
      304: { description: "The caller has it already.", always: ["ETag"] },
    },
    errors: ["not_found"],
  },
} satisfies Routes;
