import { type Command, InvalidArgumentError } from "commander";
import type { z } from "zod";
import type { AccountRates, AgreedRates } from "../../domain/api/accounts.ts";
import { type Act, addCommand, addGroup } from "./command.ts";
import type { Answer } from "./io.ts";
import { Refusal } from "./refusal.ts";

const PATH = "/api/account/rates";

type Rates = z.infer<typeof AgreedRates>;
type RatesDocument = z.infer<typeof AccountRates>;

type RateOptions = Partial<Record<keyof Rates, number>> & { readonly account?: string };

/** `rates show|set|reset`. */
export function addRateCommands(program: Command, act: Act): void {
  const rates = addGroup(program, "rates", "how many executions the keys of an account may start");

  addCommand(rates, "show", "show what counts for an account, or for a workflow's key, and how much of it is left now")
    .option("--account <name>", "for this account instead of the first")
    .option("--workflow <id>", "for the key of this workflow, and its account")
    .action(
      act<{ account?: string; workflow?: string }>(async (context, _args, { account, workflow }) => {
        const query = { account, workflow };
        const document = await (await context.client()).get<RatesDocument>(PATH, { query });
        return { document, lines: describe(document) };
      }),
    );

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
        return toAnswer(await (await context.client()).put<RatesDocument>(PATH, { query: { account }, json: agreed }));
      }),
    );

  addCommand(rates, "reset", "take back what was agreed: the limits are everybody's again")
    .option("--account <name>", "of this account instead of the first")
    .action(
      act<{ account?: string }>(async (context, _args, { account }) => {
        const json = { perMinute: null, burst: null, accountPerMinute: null };
        return toAnswer(await (await context.client()).put<RatesDocument>(PATH, { query: { account }, json }));
      }),
    );
}

function describe({ name, workflowId, agreed, key, account }: RatesDocument): string[] {
  const isAgreed = (limit: number | null): string => (limit === null ? "" : ", as agreed");
  const whose = workflowId === undefined ? "Each workflow's key" : `The key of ${workflowId}`;
  return [
    `${whose}: ${say(key)}${isAgreed(agreed.perMinute ?? agreed.burst)}`,
    `All of ${name}: ${say(account)}${isAgreed(agreed.accountPerMinute)}`,
  ];
}

function say(limit: RatesDocument["key"]): string {
  if (limit === null) return "no limit";
  const { perMinute, burst, remaining, fullAfterSeconds = 0 } = limit;
  const rate = `${perMinute} a minute, ${burst} at once`;
  if (remaining === undefined) return rate;
  const wait = fullAfterSeconds === 0 ? "" : `, all of them in ${fullAfterSeconds} s`;
  return `${rate}; ${remaining} left now${wait}`;
}

function toAnswer(document: RatesDocument): Answer {
  const sayAgreed = (limit: number | null): string =>
    limit === null ? "as everybody" : limit === 0 ? "no limit" : String(limit);
  const { name, agreed } = document;
  const { perMinute, burst, accountPerMinute } = agreed;
  const words = `per minute ${sayAgreed(perMinute)}, burst ${sayAgreed(burst)}, account per minute ${sayAgreed(accountPerMinute)}`;
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
