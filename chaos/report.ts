import type { Finding } from "./checker/check.ts";
import type { Evidence } from "./evidence.ts";
import type { Line, RequestLine } from "./record.ts";

const SHOWN_OF_EACH_RULE = 12;

/** What happened, in a few lines for people. */
export function describeRun(evidence: Evidence, seconds: number): string[] {
  const { lines, executions, attempts } = evidence;
  const faults = lines.flatMap((line) => (line.type === "fault" && line.done ? [line] : []));
  const skipped = lines.filter((line) => line.type === "fault" && !line.done).length;
  const heard = lines.filter((line) => line.type === "answer" || line.type === "silence");
  const silences = heard.flatMap((line) => (line.type === "silence" ? [line.cause] : []));
  const lost = attempts.filter(({ status }) => status === null).length;
  const left = lines.filter(({ type }) => type === "left_end").length;
  const recovery = findLongestRecovery(lines);
  return [
    row("executions", executions.length, count(executions.map(({ state, failure }) => failure ?? state))),
    row("attempts", attempts.length, `${lost} lost with their worker; ${left} ends kept where a service died`),
    ...(evidence.ticks.length === 0
      ? []
      : [
          row(
            "ticks",
            evidence.ticks.length,
            count(evidence.ticks.map(({ outcome, source }) => `${outcome} by ${source}`)),
          ),
        ]),
    row(
      "notices",
      evidence.notices.length,
      `${count(evidence.notices.map(({ kind, state }) => `${kind} ${state}`))}; ${evidence.notices.reduce((sum, { more }) => sum + more, 0)} more in them, sent ${lines.filter(({ type }) => type === "notice").length} times`,
    ),
    row("requests", heard.length, count(heard.map((line) => (line.type === "answer" ? String(line.status) : "none")))),
    row("no answer", silences.length, count(silences)),
    row("faults", faults.length, count(faults.map(({ kind, victim }) => `${kind} ${victim ?? ""}`.trim()))),
    ...(skipped > 0 ? [row("left out", skipped, "faults without a victim, or without the right to do it")] : []),
    row("starts", lines.filter((line) => line.type === "service" && line.event === "started").length, "of the service"),
    row("recovery", `${(recovery.ms / 1000).toFixed(1)} s`, `the longest, after ${recovery.after}`),
    row("time", `${Math.round(seconds)} s`, ""),
  ];
}

/** Those of each rule together, as one cause often has many consequences. */
export function describeFindings(findings: readonly Finding[]): string[] {
  const rules = [...new Set(findings.map(({ rule }) => rule))];
  return rules.flatMap((rule) => {
    const found = findings.filter((finding) => finding.rule === rule);
    const shown = found.slice(0, SHOWN_OF_EACH_RULE).map(({ subject, text }) => `${rule}: ${subject} ${text}`);
    const more = found.length - shown.length;
    return more > 0 ? [...shown, `${rule}: and ${more} more`] : shown;
  });
}

/** From a fault to the first execution that was asked for after it and answered with its result. */
export function findLongestRecovery(lines: readonly Line[]): { ms: number; after: string } {
  const requests = new Map<number, RequestLine>();
  const results: { asked: number; told: number }[] = [];
  for (const line of lines) {
    if (line.type === "request") requests.set(line.request, line);
    const request = line.type === "answer" ? requests.get(line.request) : undefined;
    if (line.type === "answer" && request?.purpose === "execute" && line.body?.duration !== undefined)
      results.push({ asked: request.at, told: line.at });
  }
  let longest = { ms: 0, after: "none" };
  for (const fault of lines) {
    if (fault.type !== "fault" || !fault.done) continue;
    const told = Math.min(...results.filter(({ asked }) => asked >= fault.at).map((result) => result.told));
    const ms = told - fault.at;
    if (Number.isFinite(ms) && ms > longest.ms) longest = { ms, after: `${fault.kind} ${fault.victim ?? ""}`.trim() };
  }
  return longest;
}

function row(name: string, figure: number | string, text: string): string {
  return `  ${name.padEnd(11)} ${String(figure).padStart(7)}   ${text}`.trimEnd();
}

function count(words: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  return [...counts]
    .sort(([one], [other]) => one.localeCompare(other))
    .map(([word, times]) => `${word} ${times}`)
    .join(", ");
}
