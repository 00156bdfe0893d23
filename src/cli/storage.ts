import { type Command, InvalidArgumentError } from "commander";
import { formatSize, parseSize } from "../../domain/manifest/sizes.ts";
import { type Act, addCommand, addGroup } from "./command.ts";
import type { Answer } from "./io.ts";

const PATH = "/api/operator/storage";

interface StorageDocument {
  readonly accountId: string;
  readonly name: string;
  readonly bytes: number;
  /** What counts; null: no bound. */
  readonly bytesMax: number | null;
  /** What was agreed; null: nothing, 0: no bound. */
  readonly agreedMax: number | null;
}

/** `storage show|set|reset`. */
export function addStorageCommands(program: Command, act: Act): void {
  const storage = addGroup(program, "storage", "how many bytes an account keeps, and may keep");

  addCommand(storage, "show", "show what an account keeps, and what it may")
    .option("--account <name>", "of this account instead of the first")
    .action(
      act<{ account?: string }>(async (context, _args, { account }) =>
        toAnswer(await (await context.client()).get<StorageDocument>(PATH, { query: { account } })),
      ),
    );

  addCommand(storage, "set", "agree with an account how much it may keep")
    .argument("<size>", "such as 200GB; 0: no bound", readSize)
    .option("--account <name>", "with this account instead of the first")
    .action(
      act<{ account?: string }>(async (context, [size = ""], { account }) => {
        const json = { account, bytesMax: readSize(String(size)) };
        return toAnswer(await (await context.client()).put<StorageDocument>(PATH, { json }));
      }),
    );

  addCommand(storage, "reset", "take back what was agreed: the bound is everybody's again")
    .option("--account <name>", "of this account instead of the first")
    .action(
      act<{ account?: string }>(async (context, _args, { account }) =>
        toAnswer(await (await context.client()).put<StorageDocument>(PATH, { json: { account, bytesMax: null } })),
      ),
    );
}

function toAnswer(document: StorageDocument): Answer {
  const { name, bytes, bytesMax, agreedMax } = document;
  const allowed = bytesMax === null ? "no bound" : `${formatSize(bytesMax)} allowed`;
  const agreed = agreedMax === null ? "" : ", as agreed";
  return { document, lines: [`${name}: ${formatSize(bytes)} kept, ${allowed}${agreed}`] };
}

function readSize(text: string): number {
  const bytes = parseSize(/^\d+$/.test(text) ? Number(text) : text);
  if (bytes !== undefined) return bytes;
  throw new InvalidArgumentError("It must be a size such as 200GB or 500MB; 0: no bound.");
}
