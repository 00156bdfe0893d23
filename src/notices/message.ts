import type { NoticeKind } from "../../domain/notices.ts";
import type { Changed, NoticeFacts } from "./facts.ts";

/** The `type` of each kind, for programs. */
const TYPES: Readonly<Record<NoticeKind, string>> = {
  failure: "run.failed",
  recovery: "run.recovered",
  missed: "tick.missed",
  slow: "run.slow",
  disabled: "place.disabled",
  result: "run.ended",
  test: "test",
};

const STATES: Readonly<Record<string, string>> = {
  failed: "failed",
  timed_out: "timed out",
  out_of_memory: "ran out of memory",
};

/** What a mail, or a line of a chat, begins with. */
export function toTitle({ notice, workflowName, run }: NoticeFacts): string {
  const name = (workflowName ?? "").replaceAll(/\s+/g, " ");
  switch (notice.kind) {
    case "failure":
      return `${name} ${STATES[run?.state ?? ""] ?? "failed"}${toMore(notice)}`;
    case "recovery":
      return `${name} is well again`;
    case "missed":
      return `${name} did not run${toMore(notice)}`;
    case "slow":
      return `${name} takes long`;
    case "result":
      return `${name} has ended`;
    case "disabled":
      return `The place ${notice.reason} is disabled`;
    case "test":
      return `A test of the place ${notice.place}`;
  }
}

function toMore({ more, createdAt }: NoticeFacts["notice"]): string {
  return more === 0 ? "" : ` (${more} more since ${createdAt.toISOString().slice(11, 16)} UTC)`;
}

/** The message for people, in lines. */
export function toLines(facts: NoticeFacts): string[] {
  const { notice, run, log, changed, runAgain, url } = facts;
  const lines: string[] = [];
  if (notice.kind === "test") lines.push("Treadle reaches this place. Nothing has failed.");
  if (notice.kind === "disabled") lines.push("Nothing is sent there any more: its receiver answered 410.");
  if (notice.nominalAt !== null) lines.push(`Due at ${notice.nominalAt.toISOString()}. ${notice.reason}`.trim());
  if (run !== null) {
    if (run.message !== "") lines.push(run.message);
    lines.push(toRunLine(run));
  }
  if (log.length > 0) lines.push("", "The end of its log:", ...log.map((line) => `  ${line}`));
  if (changed !== null) lines.push("", ...toChangeLines(changed));
  if (runAgain !== null) lines.push("", `To ${notice.kind === "disabled" ? "use" : "run"} it again:`, `  ${runAgain}`);
  if (url !== null) lines.push("", url);
  return lines;
}

function toRunLine(run: NonNullable<NoticeFacts["run"]>): string {
  const { id, trigger, scheduleName, scheduledFor, startedAt, finishedAt, secondsUsed } = run;
  const name = scheduleName === null ? "" : ` ${scheduleName}`;
  const due = `${name}${scheduledFor === null ? "" : ` for ${scheduledFor.toISOString()}`}`;
  const ended = finishedAt === null ? "" : `, ended ${finishedAt.toISOString()}, ${secondsUsed.toFixed(1)} s`;
  return `Run ${id} by ${trigger}${due}, began ${startedAt?.toISOString() ?? "never"}${ended}.`;
}

function toChangeLines({ since, commit, inputs }: Changed): string[] {
  const head = `Since the last good run, ${since.executionId}:`;
  const lines = inputs.map(({ name, before, after }) => `  ${name}: ${before ?? "none"} → ${after ?? "none"}`);
  if (commit !== null)
    lines.unshift(`  commit ${commit.before.slice(0, 7)} → ${commit.after.slice(0, 7)}: ${commit.message}`);
  return [head, ...(lines.length === 0 ? ["  the same commit and inputs"] : lines)];
}

/** The message for programs, as the Standard Webhooks have it: type, time and data. */
export function toPayload(facts: NoticeFacts): object {
  const { notice, workflowName, run, log, changed, runAgain, url } = facts;
  const { id, kind, workflowId, nominalAt, reason, more, createdAt } = notice;
  return {
    type: TYPES[kind],
    timestamp: createdAt,
    data: {
      noticeId: id,
      workflow: workflowId === null ? null : { workflowId, name: workflowName },
      run: run && {
        executionId: run.id,
        commitId: run.commitId,
        trigger: run.trigger,
        schedule: run.scheduleName,
        status: run.state,
        message: run.message,
        scheduledFor: run.scheduledFor,
        startedAt: run.startedAt,
        finishedAt: run.finishedAt,
        duration: run.secondsUsed,
      },
      tick: nominalAt && { nominalAt, reason },
      place: kind === "disabled" ? reason : null,
      more,
      log,
      changed,
      runAgain,
      url,
    },
  };
}

/** Of Slack's text; https://api.slack.com/reference/surfaces/formatting#escaping */
function escapeSlack(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

/** A message for an incoming webhook of Slack. */
export function toSlack(facts: NoticeFacts): object {
  // What would end the block is broken up by a character without width.
  const text = toLines(facts).join("\n").replaceAll("```", "`\u200b``");
  return { text: `*${escapeSlack(toTitle(facts)).replaceAll("*", "∗")}*\n\`\`\`${escapeSlack(text)}\`\`\`` };
}

/** A card for an incoming webhook of Microsoft Teams; https://adaptivecards.io/explorer/TextBlock.html */
export function toTeams(facts: NoticeFacts): object {
  const block = (text: string, more: object): object => Object.assign({ type: "TextBlock", text, wrap: true }, more);
  return {
    type: "message",
    attachments: [
      {
        contentType: "application/vnd.microsoft.card.adaptive",
        content: {
          type: "AdaptiveCard",
          version: "1.4",
          body: [
            block(escapeMarkdown(toTitle(facts)), { weight: "Bolder", size: "Medium" }),
            ...toLines(facts)
              .filter((line) => line !== "")
              .map((line) => block(escapeMarkdown(line), { fontType: "Monospace", spacing: "None" })),
          ],
        },
      },
    ],
  };
}

/** Links and emphasis of a log are text of strangers: nothing of it is to be clicked. */
function escapeMarkdown(text: string): string {
  return text.replaceAll(/[\\*_[\]()#`~|<>]/g, "\\$&");
}
