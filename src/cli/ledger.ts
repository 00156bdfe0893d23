import type { Command } from "commander";
import type { z } from "zod";
import type { LedgerPage, Spend } from "../../domain/api/accounts.ts";
import { type Act, addCommand, type Context, parseCount } from "./command.ts";
import { type Answer, toTable } from "./io.ts";

const PAGE_MAX = 200;

type Page = z.infer<typeof LedgerPage>;
type Entry = Page["entries"][number];
type SpendDocument = z.infer<typeof Spend>;

interface LedgerOptions {
  readonly account?: string;
  readonly count: number;
  readonly cursor?: string;
}

/** `credits ledger|spend`. */
export function addLedgerCommands(credits: Command, act: Act): void {
  addCommand(credits, "ledger", "list what moved the balance, the newest first")
    .option("--account <name>", "of this account instead of the first")
    .option("-n, --count <count>", "how many, up to 1000", parseCount, 50)
    .option("--cursor <cursor>", "further back: nextCursor of the list before")
    .action(act<LedgerOptions>(listLedger));
  addCommand(credits, "spend", "show what each workflow cost on each of the last days")
    .option("--account <name>", "of this account instead of the first")
    .option("--days <count>", "how many, today included, up to 366; by UTC", parseCount, 30)
    .action(act<{ account?: string; days: number }>(showSpend));
}

async function listLedger(
  context: Context,
  _args: readonly string[],
  { account, count, cursor }: LedgerOptions,
): Promise<Answer> {
  const client = await context.client();
  const entries: Entry[] = [];
  let next: string | null | undefined = cursor;
  do {
    const limit = String(Math.min(PAGE_MAX, count - entries.length));
    const page: Page = await client.get<Page>("/api/account/ledger", {
      query: { account, limit, cursor: next ?? undefined },
    });
    entries.push(...page.entries);
    next = page.nextCursor;
  } while (next !== null && entries.length < count);
  if (next !== null) context.say(`Further back: --cursor ${next}`);
  const rows = entries.map((one) => [
    one.createdAt,
    one.kind,
    one.amount,
    one.workflowName,
    one.executionId,
    one.reason,
  ]);
  const lines = toTable(["Time", "Kind", "Credits", "Workflow", "Execution", "Reason"], rows);
  return { document: { entries, nextCursor: next }, lines };
}

async function showSpend(
  context: Context,
  _args: readonly string[],
  { account, days }: { account?: string; days: number },
): Promise<Answer> {
  const query = { account, days: String(days) };
  const document = await (await context.client()).get<SpendDocument>("/api/account/spend", { query });
  const rows = document.workflows.flatMap(({ name, perDay, total }) => [
    [name, "in all", total],
    ...perDay.flatMap((amount, index) => (amount === 0 ? [] : [["", document.days[index], amount]])),
  ]);
  return {
    document,
    lines: rows.length === 0 ? ["Nothing was spent."] : toTable(["Workflow", "Day", "Credits"], rows),
  };
}
