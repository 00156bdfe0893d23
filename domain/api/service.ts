import { z } from "zod";
import { AlwaysTrue } from "./fields.ts";

/** What programs that call the service need to know. */
export const Installation = z.object({
  apiUrl: z.url(),
  version: z.string(),
  ca: z.object({ file: z.string(), pem: z.string() }).nullable().meta({
    description:
      "Of a certificate that the service has made itself: `file` on its own machine, and its text. Null for one that systems know, and behind a proxy.",
  }),
});

export const Alive = z.object({ alive: AlwaysTrue });

/** Whether everything that executions need is there, check by check. */
export const Readiness = z
  .object({
    ready: z.boolean(),
    checks: z.record(z.string(), z.object({ ok: z.boolean(), message: z.string() })),
  })
  .meta({ component: "Readiness" });
