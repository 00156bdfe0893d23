import { z } from "zod";
import { findValueProblem, findVariableNameProblem, VALUE_BYTES_MAX } from "../manifest/variable-names.ts";
import { Count, Time, WorkflowId } from "./fields.ts";

const ScopeId = WorkflowId.nullable().meta({
  description: "Null: for every workflow of the account. What a workflow has itself comes first.",
});

/** A value as a body gives it. */
export const NewValue = z.strictObject({
  value: z
    .string()
    .meta({ description: `At most ${VALUE_BYTES_MAX} bytes of UTF-8, and no NUL.` })
    .superRefine((value, context) => {
      const problem = findValueProblem(value);
      if (problem !== undefined) context.addIssue({ code: "custom", message: problem });
    }),
});

/** The name of a secret or a variable, as a path has it. */
export const ValueName = z.string().superRefine((name, context) => {
  const problem = findVariableNameProblem(name);
  if (problem !== undefined) context.addIssue({ code: "custom", message: problem });
});

const Place = { name: z.string().max(100), workflowId: ScopeId };

const Made = {
  version: Count.min(1),
  setBy: z.string().meta({ description: "The member, by e-mail address, or `operator`." }),
  setAt: Time,
  lastUsedAt: Time.nullable().meta({ description: "When a run got it, to the minute. Null: never." }),
};

const UsedBy = z
  .array(z.object({ workflowId: WorkflowId, name: z.string() }))
  .meta({ description: "Workflows whose latest commit names it and gets this one." });

/** A secret, without its value: nobody is shown that again. */
const Secret = z.object({ name: Place.name, workflowId: Place.workflowId, ...Made, usedBy: UsedBy });
export const SecretList = z.object({ secrets: z.array(Secret) });

const Variable = z.object({
  name: Place.name,
  workflowId: Place.workflowId,
  value: z.string(),
  ...Made,
  usedBy: UsedBy,
});
export const VariableList = z.object({ variables: z.array(Variable) });

export const SetValue = z.object({
  name: Place.name,
  workflowId: Place.workflowId,
  version: Made.version,
  masked: z.boolean().meta({ description: "Whether logs show *** instead of it: a secret of 6 bytes and more." }),
});

export const RemovedValue = z.object({ name: Place.name, workflowId: Place.workflowId, removed: z.boolean() });

/** What became of a name, the newest first. */
export const ValueHistory = z.object({
  name: Place.name,
  workflowId: Place.workflowId,
  versions: z.array(
    z.object({
      version: Made.version,
      removed: z.boolean(),
      value: z.string().nullable().meta({ description: "Of a variable; null for a secret, and where it was removed." }),
      setBy: Made.setBy,
      setAt: Time,
      lastUsedAt: Made.lastUsedAt,
    }),
  ),
});
