import type { AnswerLine, Line, RequestLine, SilenceLine } from "../record.ts";

/** A request with what came of it. */
export interface Exchange {
  readonly request: RequestLine;
  /** Undefined when the client was stopped before there was any. */
  readonly heard: AnswerLine | SilenceLine | undefined;
}

/** In the order in which they were asked. */
export function listExchanges(lines: readonly Line[]): Exchange[] {
  const heard = new Map<number, AnswerLine | SilenceLine>();
  for (const line of lines) if (line.type === "answer" || line.type === "silence") heard.set(line.request, line);
  return lines.flatMap((line) => (line.type === "request" ? [{ request: line, heard: heard.get(line.request) }] : []));
}
