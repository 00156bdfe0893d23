import { describeFields, IN_PERSON, orNull, TEXT } from "../content.ts";
import type { Routes } from "../route.ts";
import { answer } from "./parts.ts";

/** What callers have to know of the service itself. */
export const EDITOR_SERVICE_ROUTES = {
  showEditorService: {
    method: "get",
    path: "/api/editor/service",
    tag: "Editor",
    summary: "Where the service is called, and the authority of its certificate when that is its own",
    credentials: IN_PERSON,
    answers: {
      200: answer(
        "What programs that call the service need to know.",
        describeFields({
          apiUrl: { ...TEXT, format: "uri" },
          version: TEXT,
          ca: {
            ...orNull(describeFields({ file: TEXT, pem: TEXT })),
            description:
              "Of a certificate that the service has made itself: `file` on its own machine, and its text. Null for one that systems know, and behind a proxy.",
          },
        }),
        {
          apiUrl: "https://localhost:8443/api",
          version: "0.1.0",
          ca: {
            file: "/var/lib/treadle/tls/ca.pem",
            pem: "-----BEGIN CERTIFICATE-----\nMIIB…\n-----END CERTIFICATE-----\n",
          },
        },
      ),
    },
    errors: ["unauthorized", "not_found", "no_capacity"],
  },
} satisfies Routes;
