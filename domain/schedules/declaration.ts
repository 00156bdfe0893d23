import { type Cron, parseCron } from "../cron/cron.ts";
import type { Schedule } from "../manifest/manifest.ts";

/** A manifest's schedule without its payload: when executions are due, and what becomes of each time. */
export type ScheduleDeclaration = Omit<Schedule, "payload" | "payloadText">;

/** The cron expression of a declaration that was accepted once. Throws when it is not one. */
export function cronOf({ cron }: Pick<ScheduleDeclaration, "cron">): Cron {
  const parsed = parseCron(cron);
  if (!parsed.ok) throw new Error(`A stored schedule has the cron ${JSON.stringify(cron)}, which is not valid.`);
  return parsed.cron;
}
