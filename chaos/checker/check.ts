import type { Evidence } from "../evidence.ts";
import { checkAnswers } from "./answers.ts";
import { checkAttempts } from "./attempts.ts";
import { checkBackfills } from "./backfills.ts";
import { checkBills } from "./bills.ts";
import { type Finding, openCase } from "./case.ts";
import { checkEnds } from "./ends.ts";
import { checkFiles } from "./files.ts";
import { checkMoney } from "./money.ts";
import { checkNotices } from "./notices.ts";
import { checkScheduled } from "./scheduled.ts";
import { checkTicks } from "./ticks.ts";
import { checkTimetables } from "./timetables.ts";

export type { Finding } from "./case.ts";

const MISDEEDS = {
  left_behind: "outlived its service",
  unannounced: "took calls, and ready.json did not say so",
};

/**
 * Everything that is wrong with a run, from its evidence alone: the clients' own record, PostgreSQL and storage. Nothing
 * of the service takes part, so nothing of the service can be wrong twice.
 */
export function checkEvidence(evidence: Evidence): Finding[] {
  const given = openCase(evidence);
  const misdeeds = evidence.lines.flatMap((line) => {
    if (line.type !== "service" || !(line.event in MISDEEDS)) return [];
    return [{ rule: line.event, subject: line.note, text: MISDEEDS[line.event as keyof typeof MISDEEDS] }];
  });
  return [
    ...checkEnds(given),
    ...checkAnswers(given),
    ...checkMoney(given),
    ...checkAttempts(given),
    ...checkBills(given),
    ...checkFiles(given),
    ...checkTicks(given),
    ...checkScheduled(given),
    ...checkBackfills(given),
    ...checkTimetables(given),
    ...checkNotices(given),
    ...misdeeds,
  ];
}
