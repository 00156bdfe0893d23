import { HostList, Installation } from "../../../domain/api/service.ts";
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
  listHosts: {
    method: "get",
    path: "/api/hosts",
    tag: "Service",
    summary: "The hosts of this installation, with what they offer and how busy they are",
    description: "For the operator's token, and for owners of the account that the installation made first.",
    credentials: IN_PERSON,
    answers: {
      200: answerOf("All that were there in the last day.", HostList, {
        hosts: [
          {
            hostId: "host_06d1k7q2m8v3r5t9w0x4y6z8a1",
            role: "worker" as const,
            version: "0.1.0",
            present: true,
            draining: false,
            saidAt: "2026-11-02T08:00:04.120Z",
            programs: {
              slots: 8,
              running: 3,
              waiting: 0,
              offers: {
                pythons: ["3.13"],
                network: true,
                isolation: "bubblewrap",
                memoryBytes: 17_179_869_184,
                cores: 4,
                ceilings: { memoryBytes: 4_294_967_296, cpu: 4, scratchBytes: 1_073_741_824 },
                loadAverage: 1.25,
              },
              problems: [],
            },
          },
        ],
      }),
    },
    errors: ["unauthorized", "forbidden", "no_capacity"],
  },
} satisfies Routes;
