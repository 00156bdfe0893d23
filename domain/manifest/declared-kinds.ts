import * as z from "zod";
import { declaredBoolean, declaredMultiSelect, declaredSelect } from "./kinds/declared-choice.ts";
import { declaredFile, declaredFileList } from "./kinds/declared-file.ts";
import { declaredJson } from "./kinds/declared-json.ts";
import type { DeclaredKind } from "./kinds/declared-kind.ts";
import { declaredInteger, declaredNumber } from "./kinds/declared-number.ts";
import { declaredSecret, declaredString, declaredText } from "./kinds/declared-text.ts";
import { declaredDate, declaredDateTime } from "./kinds/declared-time.ts";
import type { InputKind, InputOf } from "./manifest.ts";

/** The table of declarations: how each kind is written in `config.yaml`. What its values may be is in `values.ts`. */
const KINDS = {
  string: declaredString,
  text: declaredText,
  number: declaredNumber,
  integer: declaredInteger,
  boolean: declaredBoolean,
  select: declaredSelect,
  multi_select: declaredMultiSelect,
  date: declaredDate,
  datetime: declaredDateTime,
  json: declaredJson,
  secret: declaredSecret,
  file: declaredFile,
  file_list: declaredFileList,
} satisfies { readonly [Kind in InputKind]: DeclaredKind<z.ZodType<{ type: Kind }>, InputOf<Kind>> };

type Schema = (typeof KINDS)[InputKind]["schema"];

/** The declaration of one input, of any kind. */
export type InputDeclaration = z.output<Schema>;

export const DECLARED_KINDS: Readonly<Record<InputKind, DeclaredKind<Schema>>> = KINDS;

/** All kinds, in the order in which documents and messages list them. */
export const INPUT_KINDS = Object.keys(KINDS) as readonly InputKind[];

const schemas = Object.values(KINDS).map(({ schema }) => schema) as [Schema, ...Schema[]];

export const InputSchema = z.discriminatedUnion("type", schemas);
