import { type Command, InvalidArgumentError } from "commander";
import type { z } from "zod";
import type { MadeToken, TokenList } from "../../domain/api/people.ts";
import { TOKEN_DAYS_MAX } from "../../domain/members.ts";
import { type Act, addCommand, addGroup } from "./command.ts";
import { toTable } from "./io.ts";

const TOKENS = "/api/tokens";
const DAYS_DEFAULT = 90;

/** `tokens list|create|revoke`: of whose token it is that asks. */
export function addTokenCommands(program: Command, act: Act): void {
  const tokens = addGroup(program, "tokens", "access tokens of your own");

  addCommand(tokens, "list", "list your access tokens").action(
    act(async (context) => {
      const { time } = context.look;
      const document = await (await context.client()).get<z.infer<typeof TokenList>>(TOKENS);
      const rows = document.tokens.map((one) => [
        one.name,
        one.tokenId,
        time(one.createdAt),
        time(one.lastUsedAt),
        time(one.expiresAt),
      ]);
      return { document, lines: toTable(["Name", "Token", "Made", "Last used", "Until"], rows) };
    }),
  );

  addCommand(
    tokens,
    "create",
    "make an access token; it is shown this once, and ends no later than the one that makes it",
  )
    .argument("<name>")
    .option("--days <count>", `for how many days, at most ${TOKEN_DAYS_MAX}`, parseDays, DAYS_DEFAULT)
    .option("--forever", "until it is revoked")
    .action(
      act<{ days: number; forever?: boolean }>(async (context, [name], { days, forever }) => {
        const json = { name, days: forever === true ? null : days };
        const document = await (await context.client()).post<z.infer<typeof MadeToken>>(TOKENS, { json });
        context.say(document.expiresAt === null ? "Good until it is revoked." : `Good until ${document.expiresAt}.`);
        return { document, lines: [document.token] };
      }),
    );

  addCommand(tokens, "revoke", "end one of your access tokens at once")
    .argument("<token>", "its id")
    .action(
      act(async (context, [id = ""]) => {
        const document = await (await context.client()).delete(`${TOKENS}/${encodeURIComponent(id)}`);
        return { document, lines: [`${id} is good for nothing any more`] };
      }),
    );
}

function parseDays(text: string): number {
  if (!/^[1-9]\d{0,2}$/.test(text) || Number(text) > TOKEN_DAYS_MAX)
    throw new InvalidArgumentError(`It must be a whole number from 1 to ${TOKEN_DAYS_MAX}.`);
  return Number(text);
}
