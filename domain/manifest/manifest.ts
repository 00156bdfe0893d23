import type { RetryPolicy } from "../retries.ts";
import type { JsonObject, JsonValue } from "./json-values.ts";
import type { Notify } from "./notify-schema.ts";

export const OVERLAPS = ["skip", "queue", "allow", "cancel_previous"] as const;
export type Overlap = (typeof OVERLAPS)[number];

export const CATCHUPS = ["none", "latest", "all"] as const;
export type Catchup = (typeof CATCHUPS)[number];

export const WHEN_FULL = ["queue", "reject"] as const;
export const ARGUMENTS = ["argparse", "click", "typer"] as const;
export const BUILDS = ["wheels", "source"] as const;

interface Declared {
  readonly name: string;
  /** For people; the name when the manifest gives no label. */
  readonly label: string;
  readonly description: string;
  /** Must be given: it has no default and does not say `required: false`. */
  readonly required: boolean;
}

interface TextBounds {
  readonly charactersMin: number;
  readonly charactersMax: number;
}

export interface StringInput extends Declared, TextBounds {
  readonly kind: "string";
  readonly pattern: string | null;
  readonly default: string | null;
}

export interface TextInput extends Declared, TextBounds {
  readonly kind: "text";
  readonly default: string | null;
}

export interface SecretInput extends Declared, TextBounds {
  readonly kind: "secret";
  readonly pattern: string | null;
}

export interface NumberInput extends Declared {
  readonly kind: "number" | "integer";
  readonly min: number | null;
  readonly max: number | null;
  readonly step: number | null;
  readonly default: number | null;
  /** The default as JSON text, where JavaScript would write another, such as `1.0`. */
  readonly defaultText?: string;
}

export interface BooleanInput extends Declared {
  readonly kind: "boolean";
  readonly default: boolean | null;
}

export interface SelectInput extends Declared {
  readonly kind: "select";
  readonly options: readonly string[];
  readonly default: string | null;
}

export interface MultiSelectInput extends Declared {
  readonly kind: "multi_select";
  readonly options: readonly string[];
  readonly default: readonly string[] | null;
}

export interface DateInput extends Declared {
  readonly kind: "date" | "datetime";
  readonly min: string | null;
  readonly max: string | null;
  readonly default: string | null;
}

export interface JsonInput extends Declared {
  readonly kind: "json";
  readonly default: JsonValue;
  /** The default as JSON text, with what JavaScript and jsonb would change. Missing without one, and in commits from before it was kept. */
  readonly defaultText?: string;
}

export interface FileInput extends Declared {
  readonly kind: "file";
  /** Lower case: `.csv`, `image/png`, `image/*`. Empty: anything. */
  readonly accept: readonly string[];
  readonly bytesMax: number;
}

export interface FileListInput extends Declared {
  readonly kind: "file_list";
  readonly accept: readonly string[];
  readonly bytesMax: number;
  readonly filesMax: number;
}

export type Input =
  | StringInput
  | TextInput
  | SecretInput
  | NumberInput
  | BooleanInput
  | SelectInput
  | MultiSelectInput
  | DateInput
  | JsonInput
  | FileInput
  | FileListInput;

/**
 * A kind of input. A new one begins as a member of `Input`. The compiler then names the tables that need an entry:
 * `DECLARED_KINDS`, `VALUE_KINDS`, and the controls of the form. A test names the runner's.
 */
export type InputKind = Input["kind"];

/** An input of a kind. */
export type InputOf<Kind extends InputKind, One extends Input = Input> = One extends Input
  ? Kind extends One["kind"]
    ? One
    : never
  : never;

/** An input whose value is JSON: every kind but the files. */
export type ValueInput = Exclude<Input, FileInput | FileListInput>;

export interface Output {
  readonly name: string;
  readonly kind: "file";
  readonly label: string;
  readonly description: string;
  /** A required output that is missing after a successful run makes the execution `failed`. */
  readonly required: boolean;
}

export interface Limits {
  readonly timeoutSeconds: number;
  readonly memoryBytes: number;
  /** Cores; 0.5 is half of one. */
  readonly cpu: number;
  /** Processes and threads together. Missing where `config.yaml` does not say. */
  readonly processes?: number;
  /** Of each process. Missing where `config.yaml` does not say. */
  readonly openFiles?: number;
  /** Of each scratch folder; on disk where it is more than the memory. Missing where `config.yaml` does not say. */
  readonly scratchBytes?: number;
  /** True: the public internet. */
  readonly network: NetworkLimit;
}

/** Whether programs have a network. `to`: these destinations alone, granted ones by name and public ones as `host:ports`. */
export type NetworkLimit = boolean | { readonly to: readonly string[] };

/** What follows an attempt that did not succeed. What is missing, `config.yaml` does not say. */
export interface Retry extends Partial<RetryPolicy> {
  /** How often it is tried in all. */
  readonly attemptsMax: number;
}

export interface Concurrency {
  readonly executionsMax: number;
  readonly whenFull: (typeof WHEN_FULL)[number];
}

export interface Schedule {
  readonly enabled: boolean;
  /** Five fields with single spaces, as `parseCron` accepts them. */
  readonly cron: string;
  readonly timezone: string;
  /** Input values as written; `parseInputs` accepts them, which was checked when the manifest was parsed. */
  readonly payload: JsonObject;
  /** The payload as JSON text, where the workflow has inputs of kind `json`. Missing in commits from before it was kept. */
  readonly payloadText?: string;
  readonly overlap: Overlap;
  readonly catchup: Catchup;
  readonly maxLatenessSeconds: number;
  readonly jitterSeconds: number;
}

export interface NamedSchedule extends Schedule {
  readonly name: string;
}

/** The parsed `config.yaml`. Plain JSON, kept as jsonb with its commit: lists where the order matters, no missing keys but those that say so. */
export interface Manifest {
  /** Null when not given: the publisher then uses the folder's name. */
  readonly name: string | null;
  readonly description: string;
  readonly entrypoint: string;
  /** What the entrypoint, a script, reads its arguments with; they are made of the inputs. Missing where it reads none. */
  readonly arguments?: (typeof ARGUMENTS)[number];
  /** "3.12" when a minor version is asked for. */
  readonly python: string | null;
  readonly build: (typeof BUILDS)[number];
  /** In the order of declaration, which is the order of the form. */
  readonly inputs: readonly Input[];
  readonly outputs: readonly Output[];
  /** Names of secrets that programs find in their environment. Missing without any. */
  readonly secrets?: readonly string[];
  /** Variables of the environment, as written: they may name variables of the account. Missing without any. */
  readonly env?: Readonly<Record<string, string>>;
  readonly limits: Limits;
  readonly retry: Retry;
  readonly concurrency: Concurrency | null;
  readonly triggers: {
    readonly api: { readonly enabled: boolean } | null;
    readonly schedule: Schedule | null;
    /** Those of `schedules`, in the order of the file. Missing without any. */
    readonly schedules?: readonly NamedSchedule[];
  };
  /** Missing where there are no notices. */
  readonly notify?: Notify;
}
