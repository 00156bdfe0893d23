import { z } from "zod";
import { type CommitId as Id, isCommitId } from "../ids.ts";
import { UNSAFE_CHARACTERS } from "../manifest/file-names.ts";
import { isStorable } from "../manifest/json-values.ts";

/** A time in ISO 8601. */
export const Time = z.iso.datetime({ offset: true });
export const Credits = z.number().meta({ description: "Credits, with at most 6 decimals." });
export const Count = z.int().min(0);
export const AccountId = z
  .string()
  .regex(/^acct_[0-9a-z]{16,40}$/)
  .max(45);
export const WorkflowId = z
  .string()
  .regex(/^wf_[0-9a-z]{16,40}$/)
  .max(43);
export const ExecutionId = z
  .string()
  .regex(/^ex_[0-9a-z]{16,40}$/)
  .max(43);
/** Documents refer to a component of this name instead of repeating it. */
export const NamedExecutionId = ExecutionId.meta({ component: "ExecutionId" });
export const UserId = z
  .string()
  .regex(/^usr_[0-9a-z]{16,40}$/)
  .max(44);
export const CommitId = z
  .string()
  .regex(/^[0-9a-f]{40}$/)
  .max(40);

/** A commit id as a body or a query gives it. */
export const GivenCommitId = z
  .string()
  .refine(isCommitId, "must be a commit id of 40 hex digits")
  .meta({ maxLength: 40 })
  .transform((text) => text as Id);

/** Not a constant: openapi-generator for Java makes code that does not compile of a constant that is no text. */
export const AlwaysTrue = z.boolean().meta({ description: "Always true." });

/** A text that PostgreSQL stores unchanged. It refuses lone surrogates and NUL. */
export const StorableText = z.string().refine(isStorable, "holds a character that cannot be stored");

/** A storable text that a person decides by. It reads as it is: no character of it hides, or turns it around. */
export const ReadableText = z
  .string()
  .refine(
    (text) => text.search(UNSAFE_CHARACTERS) === -1,
    "holds a character that is not seen, or that turns text around",
  );

/** The name of a workflow or an account. */
export const Name = StorableText.trim().min(1).max(200);

/** An answer as a handler builds it: JSON writes its dates as ISO 8601 text. */
export type Sent<T> = T extends string
  ? T | Date
  : T extends readonly (infer Item)[]
    ? readonly Sent<Item>[]
    : T extends object
      ? { readonly [Key in keyof T]: Sent<T[Key]> }
      : T;

/** Why an execution failed where its program did not. */
export const Failure = z
  .enum(["internal", "insufficient_credits", "no_capacity"])
  .meta({ description: "When the fault is ours, or it was refused. It costs nothing then." });
