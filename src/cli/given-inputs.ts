import { type Command, InvalidArgumentError } from "commander";
import { type JsonTexts, textOf } from "../../domain/manifest/json-text.ts";
import type { Call } from "./client.ts";
import type { Context } from "./command.ts";
import { createForm } from "./form.ts";
import { showUpload } from "./upload-progress.ts";

interface Named {
  readonly name: string;
  readonly value: string;
}

/** Inputs as they were written behind `-i` and `-f`. */
export interface GivenInputs {
  readonly input: readonly Named[];
  readonly file: readonly Named[];
}

/** Lets a command take `-i name=value` and `-f name=@path`. */
export function takeInputs(command: Command): Command {
  return command
    .option("-i, --input <name=value>", "an input; JSON, or plain text where the input is text", collectNamed, [])
    .option("-f, --file <name=@path>", "a file input; repeat it for a list of files", collectNamed, []);
}

function collectNamed(text: string, previous: readonly Named[]): Named[] {
  const equals = text.indexOf("=");
  if (equals < 1) throw new InvalidArgumentError("It must be a name, an equals sign and a value.");
  return [...previous, { name: text.slice(0, equals), value: text.slice(equals + 1) }];
}

/** Inputs that were given elsewhere, and the JSON texts of some of them. */
interface OtherInputs {
  readonly values: Readonly<Record<string, unknown>>;
  readonly texts: JsonTexts;
}

/** The body of a call with these inputs, and those of `others` that are not among them. */
export async function toCall(
  context: Pick<Context, "io" | "status">,
  { input, file }: GivenInputs,
  others: OtherInputs = { values: {}, texts: {} },
): Promise<Call> {
  const kept = Object.entries(others.values);
  const isExact = !kept.some(([name]) => Object.hasOwn(others.texts, name));
  if (input.length === 0 && file.length === 0 && isExact) return { json: others.values };
  const given = new Set([...input, ...file].map(({ name }) => name));
  const texts = [
    ...kept
      .filter(([name]) => !given.has(name))
      .map(([name, value]) => ({ name, text: textOf(others.texts, name) ?? JSON.stringify(value), isJson: true })),
    ...input.map(({ name, value }) => ({ name, text: value })),
  ];
  const files = file.map(({ name, value }) => ({ name, path: value.replace(/^@/, "") }));
  const { contentType, bytes, body } = await createForm(texts, files, context.io.cwd);
  const headers = { "content-type": contentType, "content-length": String(bytes) };
  return { headers, body: showUpload(context, body, bytes) };
}
