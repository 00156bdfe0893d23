import { queryOptions } from "@tanstack/react-query";
import type { z } from "zod";
import type { SecretList, SetValue, ValueHistory, VariableList } from "../../../domain/api/values.ts";
import { callApi, toQuery } from "../app/api.ts";

export type Kind = "secret" | "variable";
/** Where a value is. `workflowId` null: for all workflows of the account. */
export interface Place {
  readonly name: string;
  readonly workflowId: string | null;
}
/** A value that is set. Only a variable has its text. */
export type Value = z.infer<typeof SecretList>["secrets"][number] & { readonly value?: string };
export type Version = z.infer<typeof ValueHistory>["versions"][number];
export type ValueSet = z.infer<typeof SetValue>;

/** All that are set in the account, also those of single workflows, by name. */
export function valuesQuery(kind: Kind) {
  return queryOptions({
    queryKey: ["values", kind],
    queryFn: async ({ signal }): Promise<readonly Value[]> => {
      if (kind === "secret") return (await callApi<z.infer<typeof SecretList>>("/api/secrets", { signal })).secrets;
      return (await callApi<z.infer<typeof VariableList>>("/api/variables", { signal })).variables;
    },
  });
}

/** The versions of a name, the newest first. */
export function versionsQuery(kind: Kind, place: Place) {
  return queryOptions({
    queryKey: ["values", kind, "history", place.workflowId, place.name],
    queryFn: async ({ signal }) =>
      (await callApi<z.infer<typeof ValueHistory>>(pathOf(kind, place, "/history"), { signal })).versions,
  });
}

/** The address of a value, or of a `part` of it, in the service's interface. */
export function pathOf(kind: Kind, { name, workflowId }: Place, part = ""): string {
  const list = kind === "secret" ? "secrets" : "variables";
  return `/api/${list}/${encodeURIComponent(name)}${part}${toQuery({ workflow: workflowId ?? undefined })}`;
}
