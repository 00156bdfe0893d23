import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { changePassword, findAccessToken, findUserByEmail } from "../../db/access.ts";
import { type Db, queryRows } from "../../db/connect.ts";
import { listMembers, removeMember } from "../../db/members.ts";
import { microCredits } from "../../domain/credits.ts";
import { createBanner } from "../../src/banner.ts";
import { type Installation, prepareInstallation } from "../../src/installation.ts";
import { hashPassword, verifyPassword } from "../../src/keys/password.ts";
import { hashToken } from "../../src/keys/tokens.ts";
import { aMember } from "../support/builders.ts";
import { aDatabase, type TestDatabase } from "../support/postgres.ts";

const EMAIL = "owner@treadle.localhost";

let database: TestDatabase;
let db: Db;
let keysDir: string;

beforeAll(async () => {
  database = await aDatabase();
  db = database.db;
  keysDir = await mkdtemp(join(tmpdir(), "installation-"));
});

afterAll(async () => {
  await database?.drop();
  await rm(keysDir, { recursive: true, force: true });
});

const prepare = (): Promise<Installation> => prepareInstallation({ db, keysDir, initialCredits: microCredits(5n) });

async function isPassword(password: string): Promise<boolean> {
  return (await verifyPassword(password, (await findUserByEmail(db, EMAIL))?.passwordHash)).valid;
}

function banner(installation: Installation): string {
  const addresses = { url: "u", apiUrl: "u/api", caFile: "ca", temporalUiUrl: null, workflows: {}, pid: 1 };
  return createBanner({ ...addresses, signIn: installation.signIn }, []);
}

test("installation, from its first start to when its first owner is gone, lets in whom it says", async () => {
  const first = await prepare();
  const { account, signIn } = first;
  expect(signIn).toEqual({ email: EMAIL, password: expect.stringMatching(/^[\w-]{20}$/) });
  expect(await isPassword(signIn?.password as string)).toBe(true);
  expect(await listMembers(db, account.id)).toMatchObject([{ email: EMAIL, role: "owner" }]);
  expect(await findAccessToken(db, hashToken(first.operatorToken))).toMatchObject({ user: null });
  expect(banner(first)).toContain(`${EMAIL}  ${signIn?.password}`);
  expect(await prepare()).toEqual(first);

  // Somebody chooses another password: the one in the file is not told any more, and does not come back.
  const user = await findUserByEmail(db, EMAIL);
  const chosen = await hashPassword("a chosen password");
  await changePassword(db, { userId: user?.id ?? "", previousHash: user?.passwordHash ?? "", passwordHash: chosen });
  const second = await prepare();
  expect(second.signIn).toEqual({ email: EMAIL, password: null });
  expect(banner(second)).toContain(`${EMAIL}  with the password you chose`);
  expect(await isPassword("a chosen password")).toBe(true);

  // Whoever has the machine gets back in.
  await rm(join(keysDir, "sign-in-password"));
  const third = await prepare();
  expect(third.signIn?.password).toBe((await readFile(join(keysDir, "sign-in-password"), "utf8")).trim());
  expect(await isPassword(third.signIn?.password as string)).toBe(true);

  // A first owner who was removed stays removed, also with a new file.
  const other = await aMember(db, account.id);
  await removeMember(db, { accountId: account.id, userId: user?.id ?? "", by: other.userId });
  await rm(join(keysDir, "sign-in-password"));
  const fourth = await prepare();
  expect([fourth.signIn, banner(fourth).includes("Sign-in")]).toEqual([null, false]);
  expect(await findUserByEmail(db, EMAIL)).toBeUndefined();
  expect(await queryRows(db, "select from users where lower(email) = :email", { email: EMAIL })).toHaveLength(1);
});
