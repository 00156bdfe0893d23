import { stringify } from "yaml";
import { z } from "zod";
import type { FileProblem } from "../../domain/errors.ts";
import type { AccountId } from "../../domain/ids.ts";
import { ARGUMENTS } from "../../domain/manifest/manifest.ts";
import type { Interpreters } from "../../environments/interpreters.ts";
import { MANIFEST_FILE, problemOf } from "./folder.ts";
import { DESCRIBE_PROGRAM } from "./script-program.ts";
import type { ReadSource } from "./source-reader.ts";

const ENTRYPOINT_DEFAULT = "main.py";
const INLINE_METADATA = /^# \/\/\/ script\s*$/m;

/** Modules whose package has another name. */
const PACKAGES: Readonly<Record<string, string>> = {
  Crypto: "pycryptodome",
  MySQLdb: "mysqlclient",
  OpenSSL: "pyopenssl",
  PIL: "pillow",
  attr: "attrs",
  bs4: "beautifulsoup4",
  cv2: "opencv-python-headless",
  dateutil: "python-dateutil",
  docx: "python-docx",
  dotenv: "python-dotenv",
  fitz: "pymupdf",
  git: "gitpython",
  google: "protobuf",
  jose: "python-jose",
  jwt: "pyjwt",
  magic: "python-magic",
  pptx: "python-pptx",
  psycopg2: "psycopg2-binary",
  serial: "pyserial",
  skimage: "scikit-image",
  sklearn: "scikit-learn",
  yaml: "pyyaml",
  zmq: "pyzmq",
};

const Text = z.string().max(2_000);
const Found = z.object({
  kind: z.enum(["main", ...ARGUMENTS, "script"]),
  description: Text,
  inputs: z.array(
    z.object({
      name: z.string().regex(/^[^\W\d]\w{0,63}$/u),
      type: z.enum([
        "string",
        "number",
        "integer",
        "boolean",
        "select",
        "multi_select",
        "json",
        "file",
        "file_list",
        "date",
        "datetime",
      ]),
      description: Text,
      options: z.array(Text).optional(),
      default: z.json().optional(),
      required: z.literal(false).optional(),
    }),
  ),
  modules: z.array(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/)),
  notes: z.array(Text),
});
const Problem = z.object({ problem: z.object({ line: z.int().min(1), column: z.int().min(1), message: Text }) });

export interface Script {
  /** Its file name. */
  readonly name: string;
  readonly text: string;
  readonly owner: AccountId;
}

export type ScriptReading =
  | {
      readonly ok: true;
      readonly files: readonly { readonly path: string; readonly text: string }[];
      readonly notes: readonly string[];
    }
  | { readonly ok: false; readonly problems: readonly FileProblem[] };

export type ReadScript = (script: Script) => Promise<ScriptReading>;

/**
 * Returns what makes a folder of a script. It has the script as it is, a `config.yaml` with its inputs, and a `requirements.txt` with
 * what it imports. The folder can be published at once. The service does it, so that the editor and the command line find the same.
 */
export function createScriptReader(read: ReadSource, interpreters: Pick<Interpreters, "find">): ReadScript {
  return async ({ name, text, owner }) => {
    const python = await interpreters.find(null);
    if (python === undefined) throw new Error("This host has lost its Python.");
    const reading = await read({ program: DESCRIBE_PROGRAM, source: Buffer.from(text), python, owner });
    if (!reading.ok)
      return { ok: false, problems: [problemOf(name, `Reading it came to no end (${reading.message}).`)] };
    const problem = Problem.safeParse(reading.answer).data?.problem;
    if (problem !== undefined)
      return { ok: false, problems: [{ file: name, ...problem, message: `This is not Python: ${problem.message}.` }] };
    const found = Found.safeParse(reading.answer);
    if (!found.success)
      return { ok: false, problems: [problemOf(name, "It cannot be read. Write a config.yaml for it.")] };
    return { ok: true, files: toFiles({ name, text }, found.data), notes: found.data.notes };
  };
}

function toFiles({ name, text }: Pick<Script, "name" | "text">, found: z.infer<typeof Found>) {
  const { kind, description, inputs, modules } = found;
  const config = {
    name: toTitle(name),
    ...(description === "" ? {} : { description }),
    ...(name === ENTRYPOINT_DEFAULT ? {} : { entrypoint: name }),
    ...(kind === "main" || kind === "script" ? {} : { arguments: kind }),
    ...(inputs.length === 0 ? {} : { inputs: Object.fromEntries(inputs.map(toDeclaration)) }),
    triggers: { api: { enabled: true } },
  };
  const packages = INLINE_METADATA.test(text) ? [] : modules.map((module) => PACKAGES[module] ?? module);
  return [
    { path: MANIFEST_FILE, text: stringify(config, { lineWidth: 0 }) },
    { path: name, text },
    ...(packages.length === 0
      ? []
      : [
          {
            path: "requirements.txt",
            text: `# The packages that ${name} imports, by their likely names.\n${packages.join("\n")}\n`,
          },
        ]),
  ];
}

function toDeclaration({ name, description, ...declared }: z.infer<typeof Found>["inputs"][number]) {
  return [name, { ...declared, ...(description === "" ? {} : { description }) }] as const;
}

/** `sales_report.py` is called "Sales report". */
function toTitle(name: string): string {
  const words = name.replace(/\.py$/, "").replaceAll(/[_-]+/g, " ").trim();
  return `${words.slice(0, 1).toUpperCase()}${words.slice(1)}`.slice(0, 200) || "Script";
}
