import { createInterface } from "node:readline/promises";
import { type Readable, Writable } from "node:stream";
import type { Command } from "commander";
import type { z } from "zod";
import type { RemovedValue, SecretList, SetValue, ValueHistory, VariableList } from "../../domain/api/values.ts";
import { MASKED_BYTES_MIN, VALUE_BYTES_MAX } from "../../domain/manifest/variable-names.ts";
import { type Act, addCommand, addGroup, type Context } from "./command.ts";
import { type Answer, toTable } from "./io.ts";
import { Refusal } from "./refusal.ts";

interface Options {
  readonly account?: string;
  readonly workflow?: string;
}

/** What a group of commands is about. */
interface Group {
  readonly kind: "secret" | "variable";
  readonly path: "/api/secrets" | "/api/variables";
}

const SECRETS: Group = { kind: "secret", path: "/api/secrets" };
const VARIABLES: Group = { kind: "variable", path: "/api/variables" };

/** `secrets set|list|remove|history`, and the same of `vars`. */
export function addValueCommands(program: Command, act: Act): void {
  addValueGroup(addGroup(program, "secrets", "values that programs get and nobody is shown"), act, SECRETS);
  addValueGroup(addGroup(program, "vars", "values that programs get and everybody may see"), act, VARIABLES);
}

function addValueGroup(group: Command, act: Act, about: Group): void {
  const { kind, path } = about;
  ofPlace(addCommand(group, "set", `set a ${kind}; its value comes from standard input, or is asked for`)).action(
    act<Options>(async (context, [name = ""], options) => {
      const value = await readValue(context, `The value of ${name}`);
      const call = { query: toQuery(options), json: { value } };
      const document = await (await context.client()).put<z.infer<typeof SetValue>>(`${path}/${encode(name)}`, call);
      const lines = [`${name} is set (version ${document.version}). Runs that begin from now on get it.`];
      if (kind === "secret" && !document.masked)
        lines.push(`It has fewer than ${MASKED_BYTES_MIN} bytes, so logs do not mask it.`);
      return { document, lines };
    }),
  );
  addCommand(group, "list", `list the ${kind}s of the account and of its workflows`)
    .option("--account <name>", "of this account instead of the first")
    .action(act<Options>((context, _args, options) => list(context, about, options)));
  ofPlace(addCommand(group, "remove", `remove a ${kind} that no workflow names any more`)).action(
    act<Options>(async (context, [name = ""], options) => {
      const call = { query: toQuery(options) };
      const client = await context.client();
      const document = await client.delete<z.infer<typeof RemovedValue>>(`${path}/${encode(name)}`, call);
      return { document, lines: [`${name} is removed`] };
    }),
  );
  ofPlace(addCommand(group, "history", `show when a ${kind} was set, and by whom`)).action(
    act<Options>(async (context, [name = ""], options) => {
      const call = { query: toQuery(options) };
      const client = await context.client();
      const document = await client.get<z.infer<typeof ValueHistory>>(`${path}/${encode(name)}/history`, call);
      const rows = document.versions.map((one) => [
        one.version,
        one.removed ? "removed" : (one.value ?? "set"),
        one.setAt,
        one.setBy,
        one.lastUsedAt,
      ]);
      if (rows.length === 0) return { document, lines: [`${name} was never set.`] };
      return { document, lines: toTable(["Version", "Value", "When", "By", "Last used"], rows) };
    }),
  );
}

async function list(context: Context, { kind, path }: Group, options: Options): Promise<Answer> {
  const client = await context.client();
  const call = { query: { account: options.account } };
  const toRow = (one: z.infer<typeof SecretList>["secrets"][number], value: string): unknown[] => [
    one.name,
    value,
    one.workflowId ?? "all workflows",
    one.version,
    one.setAt,
    one.setBy,
    one.lastUsedAt,
    one.usedBy.map(({ name }) => name).join(", "),
  ];
  const headings = ["Name", "Value", "For", "Version", "Set", "By", "Last used", "Named by"];
  if (kind === "secret") {
    const document = await client.get<z.infer<typeof SecretList>>(path, call);
    return {
      document,
      lines: toTable(
        headings,
        document.secrets.map((one) => toRow(one, "***")),
      ),
    };
  }
  const document = await client.get<z.infer<typeof VariableList>>(path, call);
  return {
    document,
    lines: toTable(
      headings,
      document.variables.map((one) => toRow(one, one.value)),
    ),
  };
}

function ofPlace(command: Command): Command {
  return command
    .argument("<name>")
    .option("--workflow <id>", "of this workflow alone, instead of all of the account")
    .option("--account <name>", "of this account instead of the first");
}

/** The options of an address, and no others. */
function toQuery({ account, workflow }: Options): { account: string | undefined; workflow: string | undefined } {
  return { account, workflow };
}

function encode(name: string): string {
  return encodeURIComponent(name);
}

/** Reads a value, called `name`, where no list of processes and no history of a shell has it. The line end that a shell adds is left out. */
export async function readValue({ io, say }: Context, name: string): Promise<string> {
  const { stdin } = io;
  if (stdin === undefined) throw new Refusal("Invalid request", "There is no standard input to read the value from.");
  if ("isTTY" in stdin && stdin.isTTY === true) {
    say(`${name} (it is not shown):`);
    return askHidden(stdin);
  }
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stdin as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > VALUE_BYTES_MAX + 2)
      throw new Refusal("Invalid request", `The value has more than ${VALUE_BYTES_MAX} bytes, the most there may be.`);
  }
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(Buffer.concat(chunks));
    return text.replace(/\r?\n$/, "");
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new Refusal("Invalid request", "The value is not UTF-8 text. Encode it, in base64 for example.");
  }
}

async function askHidden(stdin: Readable): Promise<string> {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: stdin, output: nowhere, terminal: true });
  try {
    return await lines.question("");
  } finally {
    lines.close();
  }
}
