import type { Request } from "express";
import { findAccessToken } from "../../db/access.ts";
import type { Db } from "../../db/connect.ts";
import type { AccountId } from "../../domain/ids.ts";
import { hashToken } from "../keys/tokens.ts";
import { readBearerToken } from "./operator/caller.ts";
import { findSignedIn } from "./sessions.ts";

/** Somebody who acts in person, not a program with a workflow's key. `accountId` null: the operator. */
export interface Person {
  readonly accountId: AccountId | null;
}

/** Who has signed in with this browser, or whose access token came with the request: the command line's. */
export async function findPerson(db: Db, request: Request): Promise<Person | undefined> {
  const token = readBearerToken(request);
  return token === undefined ? findSignedIn(db, request) : findAccessToken(db, hashToken(token));
}
