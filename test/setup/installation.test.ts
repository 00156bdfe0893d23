import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify, stripVTControlCharacters } from "node:util";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import {
  changePassword,
  findAccessToken,
  findUserByEmail,
  insertOperatorToken,
  putUser,
} from "../../db/accounts/access.ts";
import { listMembers, removeMember } from "../../db/accounts/members.ts";
import { type Db, queryRows } from "../../db/connect.ts";
import { microCredits } from "../../domain/credits.ts";
import type { AccountId } from "../../domain/ids.ts";
import { createUserId } from "../../src/ids.ts";
import { requireMasterKey } from "../../src/keys/master-key.ts";
import { hashPassword, verifyPassword } from "../../src/keys/password.ts";
import { createSecretBox } from "../../src/keys/secret-box.ts";
import { hashToken } from "../../src/keys/tokens.ts";
import { createBanner } from "../../src/start/banner.ts";
import { type Installation, prepareInstallation } from "../../src/start/installation.ts";
import { aMember, anAccount, aWorkflow, TEST_SECRET_BOX } from "../support/builders.ts";
import { aDatabase, type TestDatabase } from "../support/postgres.ts";

const EMAIL = "owner@treadle.localhost";

let database: TestDatabase;
let db: Db;
let keysDir: string;

beforeAll(async () => {
  database = await aDatabase();
  db = database.db;
  await requireMasterKey(db, { secretBox: TEST_SECRET_BOX, file });
  keysDir = await mkdtemp(join(tmpdir(), "installation-"));
});

afterAll(async () => {
  await database?.drop();
  await rm(keysDir, { recursive: true, force: true });
});

const file = "/keys/master";

const prepare = (dir = keysDir): Promise<Installation> =>
  prepareInstallation({ db, secretBox: TEST_SECRET_BOX, keysDir: dir, initialCredits: microCredits(5n) });

async function isPassword(password: string): Promise<boolean> {
  return (await verifyPassword(password, (await findUserByEmail(db, EMAIL))?.passwordHash)).valid;
}

function banner({ signIn }: Installation, isTerminal = true): string {
  const workflows = { hello: { workflowId: "wf_1", apiKey: "trd_key" } };
  const ready = {
    url: "u",
    apiUrl: "u/api",
    caFile: "ca",
    local: { url: "u", serverName: null },
    temporalUiUrl: null,
    signIn,
    workflows,
    pid: 1,
  };
  return createBanner(
    ready,
    { isReady: true, notes: [], isCertificateOwn: false },
    { isTerminal, readyFile: "/data of/ready.json" },
  );
}

/** A data folder's keys of a process that starts for the first time. */
async function aKeysDir(): Promise<string> {
  return mkdtemp(join(keysDir, "other-"));
}

const readKey = async (dir: string, name: string): Promise<string> => (await readFile(join(dir, name), "utf8")).trim();

test("log, on a terminal, writes each record on one line, an error included", async () => {
  const script = `
    import { createLog } from ${JSON.stringify(new URL("../../src/log.ts", import.meta.url).href)};
    const log = createLog({ level: "info", terminal: true });
    log.info({ event: "one", nested: { a: [1, { b: 2 }] }, text: "x\\ny" }, "First.");
    log.error({ event: "two", error: new Error("broken", { cause: new Error("deep") }) }, "Second.");
  `;
  const typescript = new URL("../support/typescript-threads.mjs", import.meta.url).href;
  const args = ["--disable-warning=ExperimentalWarning", "--import", typescript, "--input-type=module", "-e", script];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  expect(stripVTControlCharacters(stdout).trimEnd().split("\n")).toEqual([
    expect.stringMatching(/INFO: First\. .*"event":"one"/),
    expect.stringMatching(/ERROR: Second\. .*broken/),
  ]);
});

test("banner, of a service with a certificate of its own, says what the browser will warn of, and how to trust it", () => {
  const say = (isCertificateOwn: boolean) =>
    createBanner(
      {
        url: "u",
        apiUrl: "u/api",
        caFile: "ca",
        local: { url: "u", serverName: null },
        temporalUiUrl: null,
        signIn: null,
        workflows: {},
        pid: 1,
      },
      { isReady: true, notes: [], isCertificateOwn },
      { isTerminal: true, readyFile: "/data/ready.json" },
    );
  expect(say(true)).toMatch(/Your browser will warn once [^]*bin\/treadle trust\n/);
  expect(say(false)).not.toContain("warn");
});

test("banner, of a service that is not ready, does not say that it is, and shows why", () => {
  const ready = {
    url: "u",
    apiUrl: "u/api",
    caFile: "ca",
    local: { url: "u", serverName: null },
    temporalUiUrl: null,
    signIn: null,
    workflows: {},
    pid: 1,
  };
  const place = { isTerminal: true, readyFile: "/data/ready.json" };
  const notes = ["Not ready (isolation): There is no bubblewrap."];
  const text = createBanner(ready, { isReady: false, notes, isCertificateOwn: false }, place);
  expect([text.includes("is ready"), text.includes("not ready: see below"), text.includes(notes[0] as string)]).toEqual(
    [false, true, true],
  );
  expect(createBanner(ready, { isReady: true, notes: [], isCertificateOwn: false }, place)).toContain(
    "Treadle is ready.",
  );
});

test("installation, from its first start to when its first owner is gone, lets in whom it says", async () => {
  const first = await prepare();
  const { account, signIn } = first;
  expect(signIn).toEqual({ email: EMAIL, password: expect.stringMatching(/^[\w-]{20}$/) });
  expect(await isPassword(signIn?.password as string)).toBe(true);
  expect(await listMembers(db, account.id)).toMatchObject([{ email: EMAIL, role: "owner" }]);
  expect(await findAccessToken(db, hashToken(first.operatorToken))).toMatchObject({ user: null });
  expect(banner(first)).toContain(`${EMAIL}  ${signIn?.password}`);
  expect(await prepare()).toEqual(first);
  // A process with a data folder of its own finds the same, and makes nothing anew.
  const elsewhere = await aKeysDir();
  expect(await prepare(elsewhere)).toEqual(first);
  expect(await readKey(elsewhere, "sign-in-password")).toBe(signIn?.password);
  expect(await readKey(elsewhere, "operator-token")).toBe(first.operatorToken);

  // Somebody chooses another password: the one in the file is not told any more, and does not come back.
  const user = await findUserByEmail(db, EMAIL);
  const chosen = await hashPassword("a chosen password");
  await changePassword(db, { userId: user?.id ?? "", previousHash: user?.passwordHash ?? "", passwordHash: chosen });
  const second = await prepare();
  expect(second.signIn).toEqual({ email: EMAIL, password: null });
  expect(banner(second)).toContain(`${EMAIL}  with the password you chose`);
  // Nor does a process with another data folder bring one.
  const another = await aKeysDir();
  expect(await prepare(another)).toEqual(second);
  expect(await readdir(another)).toEqual(["operator-token"]);
  expect(await isPassword("a chosen password")).toBe(true);
  expect(await queryRows(db, "select from access_tokens where user_id is null")).toHaveLength(1);

  // Whoever has the machine gets back in.
  await writeFile(join(keysDir, "sign-in-password"), "");
  const third = await prepare();
  expect(third.signIn?.password).not.toBe(signIn?.password);
  expect(third.signIn?.password).toBe((await readFile(join(keysDir, "sign-in-password"), "utf8")).trim());
  expect(await isPassword(third.signIn?.password as string)).toBe(true);

  await writeFile(join(keysDir, "operator-token"), "");
  const renewed = await prepare();
  expect(await findAccessToken(db, hashToken(first.operatorToken))).toBeUndefined();
  expect(await findAccessToken(db, hashToken(renewed.operatorToken))).toMatchObject({ user: null });
  expect(await readKey(keysDir, "operator-token")).toBe(renewed.operatorToken);
  expect(await prepare(another)).toEqual(renewed);

  // A first owner who was removed stays removed, also with a new file.
  const other = await aMember(db, account.id);
  await removeMember(db, { accountId: account.id, userId: user?.id ?? "", by: other.userId });
  await writeFile(join(keysDir, "sign-in-password"), "");
  const fourth = await prepare();
  expect([fourth.signIn, banner(fourth).includes("Sign-in")]).toEqual([null, false]);
  expect(await findUserByEmail(db, EMAIL)).toBeUndefined();
  expect(await queryRows(db, "select from users where lower(email) = :email", { email: EMAIL })).toHaveLength(1);
});

test("installation, prepared by six processes at once, has one account, owner and token", async () => {
  const { db: empty, drop } = await aDatabase();
  try {
    const made = await Promise.all(
      Array.from({ length: 6 }, async () => {
        await requireMasterKey(empty, { secretBox: TEST_SECRET_BOX, file });
        const dir = await aKeysDir();
        const prepared = { db: empty, secretBox: TEST_SECRET_BOX, keysDir: dir, initialCredits: microCredits(5n) };
        return { ...(await prepareInstallation(prepared)), file: await readKey(dir, "sign-in-password") };
      }),
    );
    expect(new Set(made.map((each) => JSON.stringify(each))).size).toBe(1);
    const [count] = await queryRows(
      empty,
      `select (select count(*)::int from accounts) as accounts, (select count(*)::int from users) as users,
              (select count(*)::int from access_tokens) as tokens`,
    );
    expect(count).toEqual({ accounts: 1, users: 1, tokens: 1 });
  } finally {
    await drop();
  }
});

test("installation, of a version before, keeps the password and the token of its first process", async () => {
  const { db: older, drop } = await aDatabase();
  try {
    const accountId = await anAccount(older);
    const [password, token] = ["an older password", "trp_older"];
    await putUser(older, {
      id: createUserId(),
      accountId,
      email: EMAIL,
      role: "owner",
      passwordHash: await hashPassword(password),
    });
    await insertOperatorToken(older, { tokenHash: hashToken(token), name: "operator" });
    const [first, second] = [await aKeysDir(), await aKeysDir()];
    await writeFile(join(first, "sign-in-password"), `${password}\n`);
    await writeFile(join(first, "operator-token"), `${token}\n`);
    // As a second process of that version left it: neither is good, or not any more.
    await writeFile(join(second, "sign-in-password"), "overwritten\n");
    await writeFile(join(second, "operator-token"), "trp_unknown\n");
    await requireMasterKey(older, { secretBox: TEST_SECRET_BOX, file });
    for (const dir of [first, second])
      expect(
        await prepareInstallation({
          db: older,
          secretBox: TEST_SECRET_BOX,
          keysDir: dir,
          initialCredits: microCredits(0n),
        }),
      ).toMatchObject({ signIn: { password }, operatorToken: token });
    expect(await readKey(second, "operator-token")).toBe(token);
  } finally {
    await drop();
  }
});

test("banner, where no terminal shows it, has neither password nor key, and a call that reads the key", async () => {
  const signIn = { email: EMAIL, password: "S3cret" };
  const installation = { account: { id: "acct_1" as AccountId, name: "main" }, signIn, operatorToken: "trp_1" };
  expect(banner(installation)).toMatch(/ S3cret\n[^]*-H 'x-api-key: trd_key'/);
  const logged = banner(installation, false);
  expect(logged).not.toMatch(/S3cret|trd_key|trp_1/);
  expect(logged).toContain(`${EMAIL}  with the password in /data of/ready.json`);
  expect(logged).toContain(`-H "x-api-key: $(node -p 'require("/data of/ready.json").workflows.hello.apiKey')"`);
});

test("master key, other than the installation's, is refused, also of one from before there was a canary", async () => {
  const other = createSecretBox(Buffer.alloc(32, 9));
  const wrong = { secretBox: other, file: "/other/master" };
  const refused = /^\/other\/master is not the master key of this installation.*TREADLE_MASTER_KEY_FILE/;
  await expect(requireMasterKey(db, wrong)).rejects.toThrow(refused);
  await requireMasterKey(db, { secretBox: TEST_SECRET_BOX, file });
  const { db: older, drop } = await aDatabase();
  try {
    await aWorkflow(older);
    await expect(requireMasterKey(older, wrong)).rejects.toThrow(refused);
    await requireMasterKey(older, { secretBox: TEST_SECRET_BOX, file });
    await expect(requireMasterKey(older, wrong)).rejects.toThrow(refused);
  } finally {
    await drop();
  }
});
