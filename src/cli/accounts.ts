import type { Command } from "commander";
import type { z } from "zod";
import type { Account, AccountList, Balance, ShownAccount } from "../../domain/api/accounts.ts";
import { formatSize } from "../../domain/manifest/sizes.ts";
import { type Act, addCommand, addGroup, parseAmount } from "./command.ts";
import { type Answer, toTable } from "./io.ts";
import { addLedgerCommands } from "./ledger.ts";

type BalanceDocument = z.infer<typeof Balance>;

interface EntryOptions {
  readonly account?: string;
  readonly reason?: string;
}

/** `accounts list|show|create` and `credits show|ledger|spend|grant|adjust`. */
export function addAccountCommands(program: Command, act: Act): void {
  const accounts = addGroup(program, "accounts", "who owns workflows and credits");

  addCommand(accounts, "list", "list accounts, oldest first").action(
    act(async (context) => {
      const document = await (await context.client()).get<z.infer<typeof AccountList>>("/api/accounts");
      const rows = document.accounts.map((one) => [one.name, one.accountId, one.balance, one.reserved, one.available]);
      return { document, lines: toTable(["Name", "Account", "Balance", "Reserved", "Available"], rows) };
    }),
  );

  addCommand(accounts, "show", "show an account, its credits and whom to ask for more")
    .option("--account <name>", "this account instead of the first")
    .action(
      act<{ account?: string }>(async (context, _args, { account }) => {
        const client = await context.client();
        const document = await client.get<z.infer<typeof ShownAccount>>("/api/account", { query: { account } });
        const { lines } = toBalanceAnswer(document);
        const { bytes, bytesMax } = document.storage;
        const allowed = bytesMax === null ? "" : ` of ${formatSize(bytesMax)}`;
        const more = [`Storage: ${formatSize(bytes)}${allowed} used`];
        if (document.contact !== null) more.push(`Ask ${document.contact} for credits`);
        return { document, lines: [`${document.name} (${document.accountId})`, ...lines, ...more] };
      }),
    );

  addCommand(accounts, "create", "make an account")
    .argument("<name>")
    .option("--credits <amount>", "credits to begin with", parseAmount)
    .action(
      act<{ credits?: string }>(async (context, [name], { credits }) => {
        const document = await (await context.client()).post<z.infer<typeof Account>>("/api/accounts", {
          json: { name, credits },
        });
        return { document, lines: [`Created ${document.accountId} with ${document.balance} credits`] };
      }),
    );

  const credits = addGroup(program, "credits", "the credits of an account");

  addCommand(credits, "show", "show the balance")
    .option("--account <name>", "of this account instead of the first")
    .action(
      act<EntryOptions>(async (context, _args, { account }) =>
        toBalanceAnswer(await (await context.client()).get<BalanceDocument>("/api/account", { query: { account } })),
      ),
    );

  addLedgerCommands(credits, act);

  const addEntryCommand = (name: "grant" | "adjust", path: string, description: string): void => {
    addCommand(credits, name, description)
      .argument("<amount>", "credits, with at most 6 decimals", parseAmount)
      .option("--account <name>", "of this account instead of the first")
      .option("--reason <text>", "kept with the ledger entry")
      .action(
        act<EntryOptions>(async (context, [amount], { account, reason }) => {
          const call = { query: { account }, json: { credits: amount, reason } };
          return toBalanceAnswer(await (await context.client()).post<BalanceDocument>(path, call));
        }),
      );
  };
  addEntryCommand("grant", "/api/account/grants", "add credits");
  addEntryCommand("adjust", "/api/account/adjustments", "correct the balance, up or down (-5)");
}

function toBalanceAnswer({ balance, reserved, available }: BalanceDocument): Answer {
  const document = { balance, reserved, available };
  return { document, lines: [`balance ${balance}, reserved ${reserved}, available ${available}`] };
}
