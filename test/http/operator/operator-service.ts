import { insertOperatorToken } from "../../../db/accounts/access.ts";
import type { AccountId } from "../../../domain/ids.ts";
import { createAccessToken, hashToken } from "../../../src/keys/tokens.ts";
import type { PublisherDeps } from "../../../src/publish/publish.ts";
import { aMember, anAccount } from "../../support/builders.ts";
import type { Answer, Call } from "../../support/https.ts";
import { someEditorParts } from "../editor/parts.ts";
import { aService, type TestService } from "../service.ts";

export type Caller = (
  path: string,
  call?: Omit<Call, "body"> & { json?: unknown; body?: Call["body"] },
) => Promise<Answer>;

export interface OperatorService extends TestService {
  readonly accountId: AccountId;
  /** The account's name is "main". */
  readonly operator: Caller;
  /** Calls with the token given, or none. */
  as(token: string | undefined): Caller;
  /** A new token of an owner of an account, or of the operator. */
  tokenOf(accountId: AccountId | null): Promise<string>;
}

/** The whole HTTP interface on a database of its own, with one account called "main". */
export async function anOperatorService(
  options: {
    environments?: PublisherDeps["environments"];
    /** What building said, by the environment's key. */
    logs?: Record<string, string>;
  } = {},
): Promise<OperatorService> {
  const service = await aService({
    editorParts: (db) => someEditorParts(db, options),
    rateLimits: { perMinute: 120, burst: 40, accountPerMinute: 600 },
  });
  const { db, call } = service;

  async function tokenOf(accountId: AccountId | null): Promise<string> {
    if (accountId !== null) return (await aMember(db, accountId)).token;
    const token = createAccessToken();
    await insertOperatorToken(db, { tokenHash: hashToken(token), name: "test" });
    return token;
  }
  const as =
    (token: string | undefined): Caller =>
    (path, { json, headers, ...rest } = {}) =>
      call(path, {
        ...rest,
        ...(json === undefined ? {} : { body: JSON.stringify(json) }),
        headers: {
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
          ...(json === undefined ? {} : { "content-type": "application/json" }),
          ...headers,
        },
      });
  const accountId = await anAccount(db, { name: "main", credits: "100" });
  const operatorToken = await tokenOf(null);
  return { ...service, accountId, operator: as(operatorToken), as, tokenOf };
}
