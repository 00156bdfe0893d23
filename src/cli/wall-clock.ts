import { formatLocal } from "../../domain/cron/next-runs.ts";
import type { CliIo } from "./io.ts";

const WEEKDAYS = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];

/** Returns the reader's time zone: that of `TZ` where it names one, else that of the machine. */
export function findViewerZone({ env }: Pick<CliIo, "env">): string {
  const named = env["TZ"]?.replace(/^:/, "");
  return named !== undefined && isZone(named) ? named : Intl.DateTimeFormat().resolvedOptions().timeZone;
}

function isZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat("en-US", { timeZone: name }).format() !== "";
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}

/** An instant by the clock of a zone, for people: `Mon 2026-11-02 09:00 +01:00`. */
export function formatClock(instant: string, zone: string): string {
  const at = new Date(instant);
  const local = formatLocal(at, zone);
  const day = WEEKDAYS[new Date(`${local.slice(0, 19)}Z`).getUTCDay()];
  return `${day} ${local.slice(0, 10)} ${local.slice(11, 16)} ${local.slice(19)}`;
}

/** The same in UTC: `Mon 2026-11-02 08:00`. */
export function formatUtc(instant: string): string {
  return formatClock(instant, "UTC").slice(0, 20);
}
