import { z } from "zod";
import { AlwaysTrue, Count, Time } from "./fields.ts";

/** What programs that call the service need to know. */
export const Installation = z.object({
  apiUrl: z.url(),
  version: z.string(),
  ca: z.object({ file: z.string(), pem: z.string() }).nullable().meta({
    description:
      "Of a certificate that the service has made itself: `file` on its own machine, and its text. Null for one that systems know, and behind a proxy.",
  }),
});

/** A host as its process describes it, every five seconds. */
const Host = z.object({
  hostId: z.string(),
  role: z.enum(["all", "api", "worker"]),
  version: z.string(),
  present: z.boolean().meta({ description: "It has said so in the last minute." }),
  draining: z.boolean().meta({ description: "It is about to stop, and begins nothing." }),
  saidAt: Time,
  programs: z
    .object({
      slots: Count.meta({ description: "How many run at a time." }),
      running: Count,
      waiting: Count.meta({ description: "Executions that wait for a slot there." }),
      offers: z.object({
        pythons: z.array(z.string()),
        network: z.boolean(),
        isolation: z.string(),
        memoryBytes: Count,
        cores: Count,
        ceilings: z
          .object({ memoryBytes: Count, cpu: z.number(), scratchBytes: Count })
          .nullable()
          .meta({ description: "The most that one program gets. Null of a process of an earlier release." }),
        loadAverage: z.number().nullable().meta({
          description:
            "Of the machine, over the last minute: how many threads want a core. Null of an earlier release.",
        }),
      }),
      problems: z.array(z.string()).meta({ description: "Why some or all programs cannot run there." }),
    })
    .nullable()
    .meta({ description: "Null where none are run." }),
});

export const HostList = z.object({ hosts: z.array(Host) });

export const Alive = z.object({ alive: AlwaysTrue });

/** Whether everything that executions need is there, check by check. */
export const Readiness = z
  .object({
    ready: z.boolean(),
    checks: z.record(z.string(), z.object({ ok: z.boolean(), message: z.string() })),
  })
  .meta({ component: "Readiness" });
