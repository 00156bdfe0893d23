import { type Command, InvalidArgumentError } from "commander";
import { type Act, addCommand, addGroup } from "./command.ts";
import type { Answer } from "./io.ts";
import { Refusal } from "./refusal.ts";

/** Null: as everybody. 0 a minute: no limit. */
interface Rates {
  readonly perMinute: number | null;
  readonly burst: number | null;
  readonly accountPerMinute: number | null;
}

interface RatesDocument extends Rates {
  readonly accountId: string;
  readonly name: string;
}

type RateOptions = Partial<Record<keyof Rates, number>> & { readonly account?: string };

/** `rates set|reset`. */
export function addRateCommands(program: Command, act: Act): void {
  const rates = addGroup(program, "rates", "how many executions the keys of an account may start");

  addCommand(rates, "set", "agree limits with an account; those not named are as everybody's")
    .option("--account <name>", "with this account instead of the first")
    .option("--per-minute <count>", "executions a minute for each workflow's key; 0: no limit", parseRate)
    .option("--burst <count>", "how many of them at once", parseBurst)
    .option("--account-per-minute <count>", "executions a minute for all its workflows; 0: no limit", parseRate)
    .action(
      act<RateOptions>(async (context, _args, { account, perMinute, burst, accountPerMinute }) => {
        if (perMinute === undefined && burst === undefined && accountPerMinute === undefined) {
          throw new Refusal(
            "Nothing to set",
            'Name a limit: --per-minute, --burst or --account-per-minute. "rates reset" takes back what was agreed.',
          );
        }
        const agreed = {
          perMinute: perMinute ?? null,
          burst: burst ?? null,
          accountPerMinute: accountPerMinute ?? null,
        };
        return toAnswer(await (await context.client()).put("/api/operator/rates", { json: { account, ...agreed } }));
      }),
    );

  addCommand(rates, "reset", "take back what was agreed: the limits are everybody's again")
    .option("--account <name>", "of this account instead of the first")
    .action(
      act<{ account?: string }>(async (context, _args, { account }) => {
        const json = { account, perMinute: null, burst: null, accountPerMinute: null };
        return toAnswer(await (await context.client()).put("/api/operator/rates", { json }));
      }),
    );
}

function toAnswer(document: RatesDocument): Answer {
  const say = (limit: number | null): string =>
    limit === null ? "as everybody" : limit === 0 ? "no limit" : String(limit);
  const { name, perMinute, burst, accountPerMinute } = document;
  const words = `per minute ${say(perMinute)}, burst ${say(burst)}, account per minute ${say(accountPerMinute)}`;
  return { document, lines: [`${name}: ${words}`] };
}

function parseRate(text: string): number {
  if (!/^\d{1,7}$/.test(text) || Number(text) > 1_000_000)
    throw new InvalidArgumentError("It must be a whole number from 0 (no limit) to 1000000.");
  return Number(text);
}

function parseBurst(text: string): number {
  if (parseRate(text) === 0) throw new InvalidArgumentError("It must be a whole number from 1 to 1000000.");
  return Number(text);
}
