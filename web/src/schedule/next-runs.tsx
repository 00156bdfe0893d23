import type { z } from "zod";
import type { NextRun as NextRunDocument } from "../../../domain/api/schedules.ts";
import tables from "../app/table.module.css";
import { useNow } from "../app/time.tsx";
import { toRelative } from "../app/time-text.ts";
import classes from "./schedule.module.css";

/** One time a schedule is due: the instant, and the same by the schedule's own clock. */
export type NextRun = z.infer<typeof NextRunDocument>;

const here = new Intl.DateTimeFormat("en-GB", {
  weekday: "short",
  day: "numeric",
  month: "short",
  hour: "2-digit",
  minute: "2-digit",
});
const wall = new Intl.DateTimeFormat("en-GB", {
  weekday: "short",
  day: "numeric",
  month: "short",
  year: "numeric",
  hour: "2-digit",
  minute: "2-digit",
  timeZone: "UTC",
});

/** `Mon, 2 Nov 2026, 09:00` of an ISO time with offset, by the clock of that offset. */
export function toWall(local: string): string {
  return wall.format(new Date(`${local.slice(0, 19)}Z`));
}

/** When a schedule is due next: by its own clock, by the viewer's, and in UTC. */
export function NextRuns({ runs }: { runs: readonly NextRun[] }) {
  const now = useNow(15_000);
  return (
    <div className={tables.frame}>
      <table className={`${tables.table} ${tables.stacked} ${classes.times}`}>
        <thead>
          <tr>
            <th scope="col">Schedule's clock</th>
            <th scope="col">Your clock</th>
            <th scope="col">UTC</th>
            <th scope="col">When</th>
          </tr>
        </thead>
        <tbody>
          {runs.map(({ utc, local, note }) => (
            <tr key={utc}>
              <td data-label="Schedule's clock">
                <span>
                  <time dateTime={local}>{toWall(local)}</time>
                  <span className={classes.offset}>{local.slice(19)}</span>
                </span>
                {note !== undefined && <span className={classes.note}>{note}</span>}
              </td>
              <td data-label="Your clock">{here.format(new Date(utc))}</td>
              <td data-label="UTC" className="number">
                {utc.slice(0, 16).replace("T", " ")}
              </td>
              <td data-label="When">{toRelative(new Date(utc), now)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
