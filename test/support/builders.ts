import { createHash, randomBytes, scryptSync } from "node:crypto";
import { putUser } from "../../db/accounts/access.ts";
import { insertAccessToken } from "../../db/accounts/access-tokens.ts";
import { createAccount } from "../../db/accounts/accounts.ts";
import { insertSession } from "../../db/accounts/sessions.ts";
import { publishCommit } from "../../db/commits/commits.ts";
import { createWorkflow } from "../../db/commits/workflows.ts";
import type { Db } from "../../db/connect.ts";
import { acceptExecution, type NewExecution } from "../../db/executions/acceptance.ts";
import { grant } from "../../db/ledger/credits.ts";
import { type MicroCredits, microCredits, parseCredits } from "../../domain/credits.ts";
import type { AccountId, CommitId, ExecutionId, WorkflowId } from "../../domain/ids.ts";
import type { Input, InputKind, Manifest } from "../../domain/manifest/manifest.ts";
import type { Role } from "../../domain/members.ts";
import { createAccountId, createExecutionId, createUserId, createWorkflowId } from "../../src/ids.ts";
import { createApiKey, hashApiKey } from "../../src/keys/api-key.ts";
import { createSecretBox, type SecretBox } from "../../src/keys/secret-box.ts";
import { createAccessToken, createSessionToken, hashToken } from "../../src/keys/tokens.ts";

/** Seals what builders store, and opens it again in tests that look. */
export const TEST_SECRET_BOX: SecretBox = createSecretBox(Buffer.alloc(32, 7));

/** An account with 1,000 credits, unless the test names another amount in credits or micro-credits. */
export async function anAccount(
  db: Db,
  given: { name?: string; credits?: string; microCredits?: bigint } = {},
): Promise<AccountId> {
  const id = createAccountId();
  await createAccount(db, { id, name: given.name ?? `account ${id}` });
  const amount =
    given.microCredits === undefined
      ? (parseCredits(given.credits ?? "1000") as MicroCredits)
      : microCredits(given.microCredits);
  if (amount > 0n) await grant(db, { accountId: id, amount, reason: "test" });
  return id;
}

export interface TestWorkflow {
  readonly workflowId: WorkflowId;
  readonly accountId: AccountId;
  readonly apiKey: string;
  readonly commitId: CommitId;
  readonly manifest: Manifest;
}

/** A workflow with a key and one commit of the manifest given; `commit: false` leaves it without (its `commitId` is then of no use). */
export async function aWorkflow(
  db: Db,
  given: {
    accountId?: AccountId;
    name?: string;
    manifest?: Partial<Manifest>;
    inputs?: readonly Input[];
    commit?: boolean;
  } = {},
): Promise<TestWorkflow> {
  const accountId = given.accountId ?? (await anAccount(db));
  const workflowId = createWorkflowId();
  const apiKey = createApiKey();
  const manifest = aManifest({ ...given.manifest, ...(given.inputs === undefined ? {} : { inputs: given.inputs }) });
  await createWorkflow(db, {
    id: workflowId,
    accountId,
    name: given.name ?? "a workflow",
    keyHash: hashApiKey(apiKey),
    keyEncrypted: TEST_SECRET_BOX.seal(apiKey, workflowId),
  });
  const commitId =
    given.commit === false ? ("0".repeat(40) as CommitId) : await aCommit(db, { workflowId, parentId: null, manifest });
  return { workflowId, accountId, apiKey, commitId, manifest };
}

/** A commit on top of `parentId`, made the head. Its git objects are placeholders: content and hashes do not agree. */
export async function aCommit(
  db: Db,
  given: { workflowId: WorkflowId; parentId: CommitId | null; manifest: Manifest; message?: string; id?: CommitId },
): Promise<CommitId> {
  const id = given.id ?? (randomBytes(20).toString("hex") as CommitId);
  const treeId = randomBytes(20).toString("hex");
  const commit = {
    message: "test",
    ...given,
    id,
    treeId,
    environment: null,
    objects: [
      { id: treeId, kind: "tree", content: Buffer.alloc(0) },
      { id, kind: "commit", content: Buffer.from(id) },
    ] as const,
  };
  const outcome = await db.transaction((tx) => publishCommit(tx, commit));
  if (outcome.kind !== "published") throw new Error(`The commit was not published: ${outcome.kind}.`);
  return id;
}

/** A manifest with the API trigger enabled, no inputs and the default limits; what the test names replaces the defaults. */
export function aManifest(given: Partial<Manifest> = {}): Manifest {
  return {
    name: null,
    description: "",
    entrypoint: "main.py",
    python: null,
    build: "wheels",
    inputs: [],
    outputs: [],
    limits: { timeoutSeconds: 300, memoryBytes: 512_000_000, cpu: 1, network: false },
    retry: { attemptsMax: 1 },
    concurrency: null,
    triggers: { api: { enabled: true }, schedule: null },
    ...given,
  };
}

/** Constraints of each kind of input when a test names none. */
const KIND_DEFAULTS: Readonly<Record<InputKind, object>> = {
  string: { charactersMin: 0, charactersMax: 10_000, pattern: null, default: null },
  text: { charactersMin: 0, charactersMax: 1_000_000, default: null },
  secret: { charactersMin: 0, charactersMax: 10_000, pattern: null },
  number: { min: null, max: null, step: null, default: null },
  integer: { min: null, max: null, step: null, default: null },
  boolean: { default: null },
  select: { options: ["a", "b"], default: null },
  multi_select: { options: ["a", "b"], default: null },
  date: { min: null, max: null, default: null },
  datetime: { min: null, max: null, default: null },
  json: { default: null },
  file: { accept: [], bytesMax: 2_000_000_000 },
  file_list: { accept: [], bytesMax: 2_000_000_000, filesMax: 100 },
};

/** A required input of a kind, as the parsed manifest has it. */
export function anInput(kind: InputKind, name: string, given: Readonly<Record<string, unknown>> = {}): Input {
  return { kind, name, label: name, description: "", required: true, ...KIND_DEFAULTS[kind], ...given } as Input;
}

/** An accepted execution, `queued`, that may cost 3.001 credits. */
export async function anExecution(
  db: Db,
  given: { workflow: TestWorkflow } & Partial<
    Pick<
      NewExecution,
      | "id"
      | "chargeMax"
      | "attemptsMax"
      | "timeoutSeconds"
      | "cpu"
      | "inputs"
      | "inputTexts"
      | "files"
      | "trigger"
      | "notifies"
    >
  >,
): Promise<ExecutionId> {
  const { workflow, ...rest } = given;
  const id = given.id ?? createExecutionId();
  await acceptExecution(db, {
    id,
    accountId: workflow.accountId,
    workflowId: workflow.workflowId,
    commitId: workflow.commitId,
    trigger: "api",
    inputs: {},
    secretInputs: null,
    timeoutSeconds: 300,
    cpu: 1,
    attemptsMax: 1,
    chargeMax: microCredits(3_001_000n),
    acceptedBy: "proc_test",
    files: [],
    ...rest,
  });
  return id;
}

/** Somebody who can sign in, an owner unless given; the password is made up unless given. */
export async function aUser(
  db: Db,
  given: { accountId: AccountId; email?: string; password?: string; role?: Role },
): Promise<{ userId: string; email: string; password: string }> {
  const userId = createUserId();
  const email = given.email ?? `${userId}@example.test`;
  const password = given.password ?? createHash("sha256").update(userId).digest("base64url");
  const { accountId, role = "owner" } = given;
  await putUser(db, { id: userId, accountId, email, role, passwordHash: hashCheaply(password) });
  return { userId, email, password };
}

/** As `hashPassword` does, in no time: of the users of the tests few sign in, and those get a hash as it should be then. */
function hashCheaply(password: string): string {
  const [salt, N] = [randomBytes(16), 16];
  const hash = scryptSync(password, salt, 32, { N, r: 8, p: 1 });
  return ["scrypt", N, 8, 1, salt.toString("hex"), hash.toString("hex")].join("$");
}

export interface TestMember {
  readonly userId: string;
  readonly email: string;
  /** The value of the header `Cookie` of a browser in which the member is signed in. */
  readonly cookie: string;
  /** An access token of the member. */
  readonly token: string;
}

/** Somebody of an account, signed in and with a token. Makes no password, which would take half a second. */
export async function aMember(db: Db, accountId: AccountId, role: Role = "owner"): Promise<TestMember> {
  const userId = createUserId();
  const email = `${userId}@example.test`;
  await putUser(db, { id: userId, accountId, email, role, passwordHash: "none" });
  return { userId, email, cookie: await aSessionOf(db, userId), token: await aTokenOf(db, userId) };
}

/** Another browser in which a user is signed in: the value of the header `Cookie`. */
export async function aSessionOf(db: Db, userId: string): Promise<string> {
  const token = createSessionToken();
  const session = { userId, passwordHash: null, userAgent: "test", lifetimeSeconds: 3_600 };
  await insertSession(db, { ...session, tokenHash: hashToken(token) });
  return `__Host-session=${token}`;
}

/** Another access token of a user. */
export async function aTokenOf(db: Db, userId: string): Promise<string> {
  const token = createAccessToken();
  await insertAccessToken(db, { userId, tokenHash: hashToken(token), name: "test", days: null, expiresBy: null });
  return token;
}

/** A signed-in owner of the account: the value of the header `Cookie`. */
export async function aSession(db: Db, accountId: AccountId): Promise<string> {
  return (await aMember(db, accountId)).cookie;
}
