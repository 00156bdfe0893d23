import type { TakeValues } from "../../activities/run-values.ts";
import type { Db } from "../../db/connect.ts";
import { takeValues, type ValuePlace } from "../../db/secrets/stored-values.ts";
import { openAccountBox } from "./data-keys.ts";
import type { SecretBox } from "./secret-box.ts";

/** What a sealed value belongs to: a box that is copied to another row opens nothing. */
export function contextOf({
  accountId,
  workflowId,
  name,
}: Pick<ValuePlace, "accountId" | "workflowId" | "name">): string {
  return `secret ${accountId} ${workflowId ?? "account"} ${name}`;
}

/** Opens what attempts name. Values are nowhere but in what it returns. */
export function createTakeValues({ db, secretBox }: { db: Db; secretBox: SecretBox }): TakeValues {
  return async (work, names) => {
    const { accountId } = work;
    const wanted = [
      ...[...names.secrets].map((name) => ({ kind: "secret" as const, name })),
      ...[...names.variables].map((name) => ({ kind: "variable" as const, name })),
    ];
    const taken = await takeValues(db, work, wanted);
    const sealed = taken.filter(({ kind }) => kind === "secret");
    const box = sealed.length === 0 ? undefined : await openAccountBox(db, secretBox, accountId);
    const secrets = sealed.map(({ name, workflowId, sealed: content }) => {
      const plain = box?.open(content as Buffer, contextOf({ accountId, workflowId, name })).toString("utf8");
      return [name, plain as string] as const;
    });
    const variables = taken.flatMap(({ kind, name, value }) =>
      kind === "variable" ? [[name, value as string] as const] : [],
    );
    return { secrets: new Map(secrets), variables: new Map(variables) };
  };
}
