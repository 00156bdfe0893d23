import type { Command } from "commander";
import type { z } from "zod";
import type { SessionList } from "../../domain/api/people.ts";
import { type Act, addCommand, addGroup, type Context } from "./command.ts";
import { type Answer, toTable } from "./io.ts";
import { Refusal } from "./refusal.ts";

const SESSIONS = "/api/sessions";

/** `sessions list|end`: of whose token it is that asks. */
export function addSessionCommands(program: Command, act: Act): void {
  const sessions = addGroup(program, "sessions", "the browsers in which you are signed in");
  addCommand(sessions, "list", "list the browsers in which you are signed in").action(
    act(async (context) => {
      const document = await (await context.client()).get<z.infer<typeof SessionList>>(SESSIONS);
      const rows = document.sessions.map((one) => [
        one.sessionId,
        context.look.time(one.createdAt),
        context.look.time(one.seenAt),
        one.userAgent,
      ]);
      return { document, lines: toTable(["Session", "Signed in", "Last seen", "Browser"], rows) };
    }),
  );
  addCommand(sessions, "end", "sign out in one browser, or in all of them")
    .argument("[session]", "its id")
    .option("--all", "in all of them")
    .action(act<{ all?: boolean }>(endSessions));
}

async function endSessions(
  context: Context,
  [session]: readonly string[],
  { all = false }: { all?: boolean },
): Promise<Answer> {
  if (all === (session !== undefined))
    throw new Refusal("Invalid request", 'Name one session ("sessions list" shows them), or --all.');
  const path = session === undefined ? SESSIONS : `${SESSIONS}/${encodeURIComponent(session)}`;
  const document = await (await context.client()).delete<{ ended: number }>(path);
  return { document, lines: [`Signed out in ${document.ended} ${document.ended === 1 ? "browser" : "browsers"}`] };
}
