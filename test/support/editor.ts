import { randomBytes } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { BrowserContext } from "playwright-core";
import type { ReadyFile } from "../../src/start/ready-file.ts";
import { openBrowser, type Visit, visit, waitUntil } from "./browser.ts";
import { IS_LONG } from "./cluster.ts";
import { borrowService, type LentService } from "./lent-service.ts";
import { aPlace, aSinglePlace } from "./place.ts";
import type { CalledService } from "./service.ts";

const EXAMPLES = fileURLToPath(new URL("../../examples/", import.meta.url));
const PASSWORD = "a long enough password";
const CREDITS = "1000";

export type VisitOptions = Omit<NonNullable<Parameters<typeof visit>[2]>, "session">;

export interface Published {
  readonly workflowId: string;
  readonly commitId: string;
  readonly apiKey: string;
}

/** The editor as the tests of one file use it: in a browser, in an account of their own. */
export interface Editor {
  readonly service: CalledService;
  readonly dataDir: string;
  /** Asks the record around the service. */
  readonly query: LentService["query"];
  readonly account: string;
  /** Who owns the account, and how to sign in as them. */
  readonly owner: { readonly email: string; readonly password: string };
  /** What was published of the examples, by their folders. */
  readonly examples: Readonly<Record<string, Published>>;
  /** An address that nobody else of the service has. */
  emailOf(name: string): string;
  /** A visitor who is not signed in. */
  visit(options?: VisitOptions): Promise<Visit>;
  /** The owner, signed in: at a page, where one is given. */
  enter(path?: string, options?: VisitOptions): Promise<Visit>;
  /** What the service answers to the owner's browser; throws unless that is good. */
  ask<T>(method: "GET" | "POST" | "PUT" | "PATCH", path: string, body?: object): Promise<T>;
  /** Makes a workflow of these files, or the next commit of one that there is. `config.yaml` enables the API unless it is given. */
  publish(files: Readonly<Record<string, string>>, workflowId?: string): Promise<Published>;
  close(): Promise<void>;
}

/**
 * Opens the editor for a test file, whose name the account gets: at the service that the files of the tier share, or, with `env`, at
 * one of its own that is started with these settings. `isAlone`: of one process, also in the long form of clusters. The caller closes it.
 */
export async function openEditor(
  name: string,
  {
    examples = [],
    env,
    isAlone = false,
  }: { examples?: readonly string[]; env?: Record<string, string>; isAlone?: boolean } = {},
): Promise<Editor> {
  const place = await (env === undefined && !(isAlone && IS_LONG) ? borrowService() : startOwn(env, isAlone));
  const closing = [place.leave];
  const close = async () => {
    for (const end of closing.splice(0).toReversed()) await end();
  };
  try {
    const { service, dataDir, query } = place;
    const browser = await openBrowser();
    closing.push(() => browser.close());
    const suffix = randomBytes(3).toString("hex");
    const emailOf = (who: string) => `${who}-${suffix}@treadle.localhost`;
    const [account, owner] = [`${name}-${suffix}`, { email: emailOf(name), password: PASSWORD }];
    const home = await browser.newContext({ baseURL: service.ready.url, ignoreHTTPSErrors: true });
    const ask = askFrom(home, service.ready);
    await ask("POST", "/api/join", { token: await inviteOwner(place, account, owner.email), password: PASSWORD });
    const session = await home.storageState();
    const editor: Editor = {
      service,
      dataDir,
      query,
      account,
      owner,
      examples: {},
      emailOf,
      ask,
      close,
      visit: (options = {}) => visit(browser, service.ready, options),
      async enter(path, options = {}) {
        const visitor = await visit(browser, service.ready, { ...options, session });
        if (path !== undefined) await visitor.page.goto(path);
        return visitor;
      },
      publish: (files, workflowId) => publish(ask, files, workflowId),
    };
    const published: Record<string, Published> = {};
    for (const example of examples) published[example] = await editor.publish(readExample(example));
    return { ...editor, examples: published };
  } catch (error) {
    await close();
    throw error;
  }
}

/** A service of the file's own. */
async function startOwn(env: Record<string, string> = {}, isAlone = false): Promise<LentService> {
  const { dataDir, query, start, remove } = await (isAlone ? aSinglePlace() : aPlace());
  try {
    const service = await start(env);
    return { service, dataDir, query, leave: () => service.stop().then(remove) };
  } catch (error) {
    await remove();
    throw error;
  }
}

/** Makes an account as the operator, and answers what its first owner joins with. */
async function inviteOwner({ service, dataDir }: LentService, account: string, email: string): Promise<string> {
  const token = (await readFile(join(dataDir, "keys/operator-token"), "utf8")).trim();
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const send = async (path: string, body: object) => {
    const answer = await service.call(path, { method: "POST", headers, body: JSON.stringify(body) });
    if (answer.status !== 201) throw new Error(`${path} was answered ${answer.status}: ${answer.text}`);
    return answer.body;
  };
  await send("/accounts", { name: account, credits: CREDITS });
  const { url } = await send(`/invitations?account=${account}`, { email, role: "owner" });
  return new URL(String(url)).hash.slice(1);
}

/** Asks the service as the pages of a browser do. */
function askFrom(context: BrowserContext, { url }: ReadyFile): Editor["ask"] {
  return async <T>(method: string, path: string, body?: object): Promise<T> => {
    const data = body === undefined ? {} : { data: body };
    const answer = await context.request.fetch(path, { method, headers: { origin: url }, ...data });
    if (!answer.ok()) throw new Error(`${method} ${path} was answered ${answer.status()}: ${await answer.text()}`);
    return (await answer.json()) as T;
  };
}

/** Changes the draft and commits it. Where that takes longer than an answer may, waits for it. */
async function publish(
  ask: Editor["ask"],
  files: Readonly<Record<string, string>>,
  given: string | undefined,
): Promise<Published> {
  const workflows = "/api/workflows";
  const workflowId = given ?? (await ask<{ workflowId: string }>("POST", workflows, { name: "New" })).workflowId;
  const path = `${workflows}/${workflowId}`;
  const draft = await ask<{ version: number; head: string | null }>("GET", `${path}/draft`);
  const all = { "config.yaml": "triggers:\n  api: { enabled: true }\n", ...files };
  const changes = Object.entries(all).map(([file, text]) => ({ path: file, text }));
  const { version } = await ask<{ version: number }>("PATCH", `${path}/draft`, { version: draft.version, changes });
  await ask("POST", `${path}/commits`, { version, expectedHead: draft.head });
  let commitId = draft.head;
  await waitUntil("the files are committed", async () => {
    const { commits } = await ask<{ commits: { commitId: string }[] }>("GET", `${path}/commits?limit=1`);
    commitId = commits[0]?.commitId ?? null;
    return commitId !== draft.head;
  });
  const { apiKey } = await ask<{ apiKey: string }>("GET", `${path}/key?reveal=true`);
  return { workflowId, commitId: String(commitId), apiKey };
}

/** The files of an example; those that tests use have no folders. */
function readExample(name: string): Record<string, string> {
  const paths = readdirSync(join(EXAMPLES, name));
  return Object.fromEntries(paths.map((path) => [path, readFileSync(join(EXAMPLES, name, path), "utf8")]));
}
