import { type Command, InvalidArgumentError } from "commander";
import type { z } from "zod";
import type { ShownAccount } from "../../domain/api/accounts.ts";
import { formatSize, parseSize } from "../../domain/manifest/sizes.ts";
import { type Act, addCommand, addGroup } from "./command.ts";
import type { Answer } from "./io.ts";

const PATH = "/api/account/storage";

type AccountDocument = z.infer<typeof ShownAccount>;

/** `storage show|set|reset`. */
export function addStorageCommands(program: Command, act: Act): void {
  const storage = addGroup(program, "storage", "how many bytes an account keeps, and may keep");

  addCommand(storage, "show", "show what an account keeps, and what it may")
    .option("--account <name>", "of this account instead of the first")
    .action(
      act<{ account?: string }>(async (context, _args, { account }) =>
        toAnswer(await (await context.client()).get<AccountDocument>("/api/account", { query: { account } })),
      ),
    );

  addCommand(storage, "set", "agree with an account how much it may keep")
    .argument("<size>", "such as 200GB; 0: no bound", readSize)
    .option("--account <name>", "with this account instead of the first")
    .action(
      act<{ account?: string }>(async (context, [size = ""], { account }) => {
        const call = { query: { account }, json: { bytesMax: readSize(String(size)) } };
        return toAnswer(await (await context.client()).put<AccountDocument>(PATH, call));
      }),
    );

  addCommand(storage, "reset", "take back what was agreed: the bound is everybody's again")
    .option("--account <name>", "of this account instead of the first")
    .action(
      act<{ account?: string }>(async (context, _args, { account }) =>
        toAnswer(
          await (await context.client()).put<AccountDocument>(PATH, { query: { account }, json: { bytesMax: null } }),
        ),
      ),
    );
}

function toAnswer({ accountId, name, storage }: AccountDocument): Answer {
  const { bytes, bytesMax, agreedMax } = storage;
  const allowed = bytesMax === null ? "no bound" : `${formatSize(bytesMax)} allowed`;
  const agreed = agreedMax === null ? "" : ", as agreed";
  const document = { accountId, name, ...storage };
  return { document, lines: [`${name}: ${formatSize(bytes)} kept, ${allowed}${agreed}`] };
}

function readSize(text: string): number {
  const bytes = parseSize(/^\d+$/.test(text) ? Number(text) : text);
  if (bytes !== undefined) return bytes;
  throw new InvalidArgumentError("It must be a size such as 200GB or 500MB; 0: no bound.");
}
