import { Installation } from "../../../domain/api/service.ts";
import { answerOf, IN_PERSON } from "./content.ts";
import type { Routes } from "./route.ts";

/** What callers have to know of the service itself. */
export const ABOUT_ROUTES = {
  describeInstallation: {
    method: "get",
    path: "/api/service",
    tag: "Publishing",
    summary: "Where the service is called, and the authority of its certificate when that is its own",
    credentials: IN_PERSON,
    answers: {
      200: answerOf("What programs that call the service need to know.", Installation, {
        apiUrl: "https://localhost:8443/api",
        version: "0.1.0",
        ca: {
          file: "/var/lib/treadle/tls/ca.pem",
          pem: "-----BEGIN CERTIFICATE-----\nMIIB…\n-----END CERTIFICATE-----\n",
        },
      }),
    },
    errors: ["unauthorized", "not_found", "no_capacity"],
  },
} satisfies Routes;
