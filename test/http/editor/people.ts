import type { AccountId } from "../../../domain/ids.ts";
import { aMember, anAccount, type TestMember } from "../../support/builders.ts";
import type { Answer } from "../../support/https.ts";
import type { TestService } from "../service.ts";

export interface House {
  readonly accountId: AccountId;
  readonly owner: TestMember;
  readonly member: TestMember;
  readonly viewer: TestMember;
}

/** An account with one of each role. */
export async function aHouse({ db }: Pick<TestService, "db">): Promise<House> {
  const accountId = await anAccount(db);
  const [owner, member, viewer] = [
    await aMember(db, accountId),
    await aMember(db, accountId, "member"),
    await aMember(db, accountId, "viewer"),
  ];
  return { accountId, owner, member, viewer };
}

interface Ask {
  readonly method?: string;
  readonly json?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Calls a route as our own pages do: with somebody's cookie, or nobody's, from the same origin. */
export function ask(
  service: Pick<TestService, "call">,
  path: string,
  { method, json, headers }: Ask = {},
  who?: { readonly cookie: string },
): Promise<Answer> {
  return service.call(path, {
    method: method ?? (json === undefined ? "GET" : "POST"),
    headers: {
      "sec-fetch-site": "same-origin",
      ...(who === undefined ? {} : { cookie: who.cookie }),
      ...(json === undefined ? {} : { "content-type": "application/json" }),
      ...headers,
    },
    body: json === undefined ? undefined : JSON.stringify(json),
  });
}

/** The session that an answer starts, as the value of the header `Cookie`. Empty: it ends one; undefined: it says nothing of it. */
export function cookieOf(answer: Answer): string | undefined {
  return answer.headers["set-cookie"]?.[0]?.split(";")[0];
}

/** What no log and no row may hold: whether any of these texts is in either. */
export async function findLeaks(
  service: Pick<TestService, "db" | "logged">,
  secrets: readonly string[],
): Promise<string[]> {
  const tables: { rows: { name: string }[] } = await service.db.raw(
    `select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r'`,
  );
  const leaks = secrets.filter((secret) => JSON.stringify(service.logged).includes(secret)).map(() => "the log");
  for (const { name } of tables.rows) {
    const found: { rows: { text: string }[] } = await service.db.raw(`select cast(t as text) as text from ${name} t`);
    if (found.rows.some(({ text }) => secrets.some((secret) => text.includes(secret)))) leaks.push(name);
  }
  return leaks;
}

export function byNumber(one: number, other: number): number {
  return one - other;
}
